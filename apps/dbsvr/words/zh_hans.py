"""The console's sentences in Simplified Chinese. Places are filled in by `say`; a per cent sign of the text itself is doubled."""

from __future__ import annotations

AND = "、"
DATABASE_ERRORS = {
    "1062": "错误 1062（主键重复）",
    "1032": "错误 1032（缺少数据行）",
    "1236": "错误 1236（主库日志已不存在）",
    "1045": "错误 1045（登录被拒）",
    "1950": "错误 1950（顺序错乱）",
}
WHY_NO_ANSWER = {
    "refused": "连接被拒",
    "timeout": "1 秒内没有应答",
    "unreachable": "无法到达其主机",
    "login": "登录被拒",
    "garbled": "应答无法理解",
}
CAUSES = {
    "promotion": "另一台服务器被提升为主库",
    "restore": "主库被恢复到较早的状态",
    "adoption": "运营人员采用了以前的主库",
}

_STOPPED = "%(replica)s 的复制已停止（无错误）。"
_BROKE = "%(replica)s 的复制出错中断：%(error)s。"
_BY_HAND = "于 %(since_at)s 被停止；"
_BY_ITSELF = "不会自行恢复；"
_START = "请启动复制。"
_REPAIR = "请先修复 %(replica)s，再启动复制。"

SENTENCES: dict[str, tuple[str, str]] = {
    "first": ("暂无数据。", "2 秒后显示首批数据。"),
    "ok/reads": (
        "一切正常。",
        "每秒 %(reads_rate)s 次读，%(replica_share)s 由从库承担，最多落后 %(lag_ms)s；读写等待不超过 %(wait_ms)s。",
    ),
    "ok/writes": ("一切正常。", "每秒 %(writes_rate)s 次写，没有读；从库最多落后 %(lag_ms)s；写等待不超过 %(wait_ms)s。"),
    "ok/pause": ("一切正常。", "此刻没有读写；从库最多落后 %(lag_ms)s。"),
    "idle/idle": ("一切正常，暂无流量。", "最近 60 秒没有读写；节拍正常，说明只是空闲。"),
    "replica.lag/falling": (
        "从库 %(replica)s 落后 %(lag_ms)s，正在追赶。",
        "%(late_share)s 的读转到主库，因为这些用户在最近 %(lag_ms)s内写过；没有用户会看到旧数据。预计还需 %(left_ms)s。"
        "无需处理，若 %(look_minute)s 仍在增大请查看。",
    ),
    "replica.lag/falling_quiet": (
        "从库 %(replica)s 落后 %(lag_ms)s，正在追赶。",
        "此刻没有读；没有用户会看到旧数据。预计还需 %(left_ms)s。无需处理，若 %(look_minute)s 仍在增大请查看。",
    ),
    "replica.lag/steady": (
        "从库 %(replica)s 落后 %(lag_ms)s，没有变化。",
        "%(late_share)s 的读转到主库，因为这些用户在最近 %(lag_ms)s内写过；没有用户会看到旧数据。"
        "请检查 %(replica)s 是否设置了延迟，或主机是否过慢。",
    ),
    "replica.lag/steady_quiet": (
        "从库 %(replica)s 落后 %(lag_ms)s，没有变化。",
        "此刻没有读；没有用户会看到旧数据。请检查 %(replica)s 是否设置了延迟，或主机是否过慢。",
    ),
    "replica.lag/growing": (
        "从库 %(replica)s 落后 %(lag_ms)s且仍在扩大（每秒 +%(slope_s)s 秒）。",
        "主库承担 %(master_share)s 的读，已达历史最高的 %(most_share)s；没有用户会看到旧数据。"
        "请检查 %(replica)s 上的长事务，或暂停使用 %(replica)s。",
    ),
    "replica.lag/growing_quiet": (
        "从库 %(replica)s 落后 %(lag_ms)s且仍在扩大（每秒 +%(slope_s)s 秒）。",
        "此刻没有读；没有用户会看到旧数据。请检查 %(replica)s 上的长事务，或暂停使用 %(replica)s。",
    ),
    "replica.stopped/by_hand_serving": (
        _STOPPED,
        _BY_HAND + "它仍为此后没有写过的用户服务，其余用户由主库承担；没有用户会看到旧数据。" + _START,
    ),
    "replica.stopped/by_hand_shared": (_STOPPED, _BY_HAND + "其读由 %(others)s 和主库承担。" + _START),
    "replica.stopped/by_hand_alone": (_STOPPED, _BY_HAND + "其读由主库承担。" + _START),
    "replica.stopped/error_serving": (_BROKE, _BY_ITSELF + "它仍为此后没有写过的用户服务，其余用户由主库承担。" + _REPAIR),
    "replica.stopped/error_shared": (_BROKE, _BY_ITSELF + "其读由 %(others)s 和主库承担。" + _REPAIR),
    "replica.stopped/error_alone": (_BROKE, _BY_ITSELF + "其读由主库承担。" + _REPAIR),
    "replica.stopped/cut": (
        "%(replica)s 收不到主库的数据。",
        "其拉取线程自 %(since_at)s 起未运行，已收到的数据仍会应用；它仍为此后没有写过的用户服务。"
        "请检查两者之间的网络，以及是否有人停止了该线程。",
    ),
    "replica.stopped/still": (
        "从库 %(replica)s 停滞，落后 %(lag_ms)s。",
        "复制在运行但没有应用数据：可能被锁、长事务或延迟设置阻挡；没有用户会看到旧数据。无需处理，除非持续不变。",
    ),
    "replica.stopped/recovering": (
        "%(replica)s 的复制已恢复，落后 %(lag_ms)s。",
        "自 %(since_at)s 起曾停止或停滞；没有用户会看到旧数据。跟上 15 秒后本条消失。",
    ),
    "replica.stopped/unclear": ("%(replica)s 的复制于 %(since_at)s 停止；落后多少未知。", "在确认之前不让它服务。"),
    "replica.silent/silent": (
        "%(replica)s 没有应答（%(age_ms)s）。",
        "延迟未知，因此不让它服务。请检查主机以及 DBSvr %(dbsvr)s 到它的网络。",
    ),
    "replica.silent/no_worker": (
        "%(replica)s 没有工作进程（%(age_ms)s）。",
        "延迟未知，因此不让它服务。请检查 DBSvr %(dbsvr)s 的 %(replica)s 进程 slave_db_svr 及其数据库。",
    ),
    "replica.silent/back": ("%(replica)s 恢复应答。", "连续 5 次正常应答后本条消失。"),
    "replica.refused/fork": (
        "从库 %(replica)s 被拒用：它含有主库没有的写。",
        "它不服务任何读，因此没有人会看到这些写；其读由其他服务器承担。不会自行恢复：请从主库重建 %(replica)s，"
        "再对每个 DBSvr 执行 `python -m workers rebuilt %(replica)s --instance %(instance)s`。",
    ),
    "replica.refused/waiting": (
        "DBSvr %(dbsvr)s 暂不使用从库 %(replica)s。",
        "原因：%(refusal)s。其读由其他服务器承担，没有用户会看到旧数据。若持续不变，请检查 %(replica)s 从哪里复制。",
    ),
    "replica.refused/back": ("从库 %(replica)s 恢复使用。", "连续 5 次正常采样后本条消失。"),
    "replica.held/shared": (
        "从库 %(replica)s 已停用：%(held_by)s 于 %(held_at)s 停用。",
        "原因：%(reason)s。其读由 %(others)s 和主库承担，没有用户会看到旧数据。确认无误后请在“主从差异”页恢复使用。",
    ),
    "replica.held/alone": (
        "从库 %(replica)s 已停用：%(held_by)s 于 %(held_at)s 停用。",
        "原因：%(reason)s。其读由主库承担，没有用户会看到旧数据。确认无误后请在“主从差异”页恢复使用。",
    ),
    "diff.found/used": (
        "%(replica)s 有 %(rows)s 行与主库不同。",
        "首次发现于 %(seen_at)s：%(named)s。%(replica)s 仍在使用。请在“主从差异”页对比两边的行，然后修复。",
    ),
    "diff.found/held": (
        "%(replica)s 有 %(rows)s 行与主库不同。",
        "首次发现于 %(seen_at)s：%(named)s。%(replica)s 已停用，没有用户会看到。请在“主从差异”页对比两边的行，然后修复。",
    ),
    "diff.found/one_used": (
        "%(replica)s 有一行与主库不同。",
        "首次发现于 %(seen_at)s：%(named)s。%(replica)s 仍在使用。请在“主从差异”页对比两边的行，然后修复。",
    ),
    "diff.found/one_held": (
        "%(replica)s 有一行与主库不同。",
        "首次发现于 %(seen_at)s：%(named)s。%(replica)s 已停用，没有用户会看到。请在“主从差异”页对比两边的行，然后修复。",
    ),
    "diff.gap/part": (
        "%(replica)s 的 %(table)s 有 %(gap_share)s 未比较。",
        "第 %(run)s 次比较：%(reason)s。已比较的部分见“主从差异”页。",
    ),
    "diff.gap/all": (
        "%(replica)s 的 %(table)s 未能完整比较。",
        "第 %(run)s 次比较：%(reason)s。已比较的部分见“主从差异”页。",
    ),
    "replicas.none/busy": (
        "没有可用的从库。",
        "全部读由主库承担，已达历史最高的 %(most_share)s。结果仍然正确，但可能变慢。",
    ),
    "replicas.none/quiet": ("没有可用的从库。", "全部读由主库承担。结果仍然正确，但可能变慢。"),
    "replicas.none/back": ("已有从库恢复服务。", "持续服务 15 秒后本条消失。"),
    "replica.share/low": (
        "从库只承担了其可承担读的 %(served_share)s。",
        "因从库繁忙，主库每秒接走 %(spill_rate)s 次读；没有用户会看到旧数据。请检查从库的处理器，或提高 `spill_depth`。",
    ),
    "master.down/refusing": (
        "写被拒绝：主库没有应答（%(age_ms)s）。",
        "已有 %(refused)s 次写返回 MASTERDOWN，客户端会用相同 event id 重试；从库可承担的读继续。请检查主库的主机和日志。",
    ),
    "master.down/quiet": (
        "写将被拒绝：主库没有应答（%(age_ms)s）。",
        "此后没有人尝试写；从库可承担的读继续。请检查主库的主机和日志。",
    ),
    "master.down/back": ("主库恢复应答。", "中断 %(age_ms)s，期间 %(refused)s 次写返回 MASTERDOWN。连续 5 次提交后本条消失。"),
    "master.beat/late": ("主库连接正常，但已 %(age_ms)s没有提交。", "可能被冻结或磁盘已满。在恢复提交前，延迟数据未知。"),
    "master.beat/back": ("主库恢复提交。", "节拍正常 10 秒后本条消失。"),
    "master.two/now": (
        "有两个数据库可写：写到错误一方的数据会丢失。",
        "DBSvr 报告：%(warning)s。DBSvr 自身只写入其主库。请将另一个设为 read_only，再将其重建为从库。",
    ),
    "master.two/back": ("又只有一个数据库可写。", "连续 5 次正常采样后本条消失。"),
    "writes.lost/named": (
        "DBSvr %(dbsvr)s 有 %(writes)s 次已确认的写丢失：%(cause)s。",
        "它以世代 %(generation)s 继续运行，不含这些写；相关用户看到的是之前的状态。全部列在 %(file)s 中（含 uid 和 event id）："
        "请用相同的 event id 重新发送。24 小时后本条消失。",
    ),
    "writes.lost/some": (
        "DBSvr %(dbsvr)s 至少有 %(writes)s 次已确认的写丢失：%(cause)s。",
        "它以世代 %(generation)s 继续运行，不含这些写。已知的列在 %(file)s 中（含 uid 和 event id）：请用相同的 event id 重新发送。"
        "可能还有更多丢失：请与逻辑服务器发送过的内容核对。24 小时后本条消失。",
    ),
    "writes.lost/unnamed": (
        "DBSvr %(dbsvr)s 可能有已确认的写丢失：%(cause)s。",
        "它以世代 %(generation)s 继续运行，不知道之前确认过什么。请与逻辑服务器在此前不久发送的内容核对，并用相同的 event id 重新发送。"
        "24 小时后本条消失。",
    ),
    "segment.away/taken": (
        "号段 %(segment)s 在 DBSvr %(owner)s，而不在 DBSvr %(home)s。",
        "于 %(since_at)s 因 DBSvr %(home)s 停滞而被接管；其用户正常服务，没有用户会看到旧数据。"
        "请检查 DBSvr %(home)s；它恢复健康后号段会自行归还。",
    ),
    "segment.away/given": (
        "号段 %(segment)s 在 DBSvr %(owner)s，而不在 DBSvr %(home)s。",
        "于 %(since_at)s 被移交；其用户正常服务，没有用户会看到旧数据。DBSvr %(home)s 健康时会自行归还。",
    ),
    "segment.away/unclear": (
        "号段 %(segment)s 在 DBSvr %(owner)s，而不在 DBSvr %(home)s。",
        "最迟自 %(since_at)s 起如此；其用户正常服务，没有用户会看到旧数据。DBSvr %(home)s 健康时会自行归还。",
    ),
    "segment.taking/now": (
        "DBSvr %(owner)s 正在接管号段 %(segment)s。",
        "该号段属于 DBSvr %(home)s。在前一归属者的租约到期之前，其用户的读由主库承担，写由客户端重试。无需处理，若超过 10 秒请查看。",
    ),
    "segment.none/now": (
        "号段 %(segment)s 没有能应答的归属者。",
        "DBSvr %(owner)s 失联，也没有其他 DBSvr 接管；其用户的写被拒绝，读由主库承担。"
        "只要有客户端向其他 DBSvr 请求这些用户，它就会接管，但在 `dbsvr.hold_ms` 内不超过一次。请恢复 DBSvr %(owner)s。",
    ),
    "peer.away/now": (
        "DBSvr %(dbsvr)s 到不了 DBSvr %(owner)s，而后者对我们有应答。",
        "到达 %(dbsvr)s 的、属于 %(owner)s 的用户的写会以 NOTOWNER 被拒；能到达 %(owner)s 的客户端不受影响。移交的号段不会带上足迹。"
        "请检查两者之间的网络、两台主机上的 `dbsvr.instances` 以及密钥。",
    ),
    "peer.away/back": ("DBSvr %(dbsvr)s 又能到达 DBSvr %(owner)s。", "连续 5 次正常采样后本条消失。"),
    "config.skew/now": (
        "有 %(processes)s 个逻辑进程没有使用任务的版本 %(revision)s。",
        "其中最旧的在用 %(using)s：%(others)s。它们照常服务，但按旧的任务。"
        "请查看这些主机的 /healthz 和日志；旧版程序可能不认识新版本中的内容。",
    ),
    "config.skew/back": ("所有逻辑进程都在使用任务的版本 %(revision)s。", "连续 5 次正常采样后本条消失。"),
    "config.damaged/now": (
        "最新发布的任务无法读取。",
        "各处仍使用版本 %(revision)s（%(damage)s）。请重新发布；并保留 `config_revision` 中的该行以便查明原因。",
    ),
    "config.damaged/none": ("最新发布的任务无法读取。", "之前没有别的版本，因此没有逻辑进程有任务可用（%(damage)s）。请重新发布。"),
    "config.damaged/back": ("最新发布的任务又可以读取。", "正在使用版本 %(revision)s。"),
    "config.unseen/now": (
        "看不到已发布的任务。",
        "仍使用版本 %(revision)s；现在发布的内容到不了任何地方。用户照常服务。数据库的回答：%(reason)s。"
        "`python -m workers check` 会说明该怎么做。",
    ),
    "config.unseen/none": (
        "看不到已发布的任务。",
        "现在启动的逻辑进程没有任务可用。数据库的回答：%(reason)s。`python -m workers check` 会说明该怎么做。",
    ),
    "config.unseen/back": ("又能看到已发布的任务。", "正在使用版本 %(revision)s（%(reason)s）。"),
    "queue.query.age/busy": (
        "读最长等待 %(wait_ms)s。",
        "共 %(waiting)s 个在等；主库承担 %(master_share)s 的读，已达历史最高的 %(most_share)s。"
        "可增加工作进程，或在主库有余力时提高 `spill_depth`。",
    ),
    "queue.query.age/waiting": ("读最长等待 %(wait_ms)s。", "共 %(waiting)s 个在等，没有一个得到应答。请检查工作进程。"),
    "queue.finish.age/waiting": ("写最长等待 %(wait_ms)s。", "共 %(waiting)s 个在等；主库提交缓慢，或其工作进程繁忙。请检查主库的磁盘。"),
    "queue.clear.age/waiting": (
        "最久的删除已等 %(wait_ms)s。",
        "只有没有写和读等待时才执行删除；共 %(waiting)s 个。无需处理，若超过 60 分钟请查看。",
    ),
    "overload/refusing": (
        "DBSvr %(dbsvr)s 正在拒绝请求：最近 10 秒 %(refused)s 次。",
        "已告知客户端稍后重试。需求 %(demand_rate)s 次/秒，历史最高 %(most_rate)s 次读/秒。",
    ),
    "overload/over": (
        "DBSvr %(dbsvr)s 恢复接受全部请求。",
        "片刻前曾拒绝过请求，30 秒内没有再拒绝后本条消失。需求 %(demand_rate)s 次/秒。",
    ),
    "dbsvr.down/refused": (
        "DBSvr %(dbsvr)s 自 %(since_at)s 起失联：其端口无人监听。",
        "恢复之前无法为任何用户服务。监管进程会自动重启它；若没有，请查看其接入进程的日志。",
    ),
    "dbsvr.down/still": (
        "DBSvr %(dbsvr)s 自 %(since_at)s 起失联：没有应答，节拍号也不再变化。",
        "恢复之前无法为任何用户服务。请检查其主机、进程以及主库。",
    ),
    "dbsvr.down/back": ("DBSvr %(dbsvr)s 恢复应答。", "自 %(since_at)s 起曾失联。连续 5 次应答后本条消失。"),
    "canary.violation/old": (
        "承诺被破坏：探针读到了旧状态。",
        "%(last_at)s，%(server)s 返回的状态早于已确认的状态（24 小时内共 %(violations)s 轮）。若 %(server)s 是从库，请停用并保留其日志；"
        "版本详情见 Celery 日志。最后一次之后一小时结束。",
    ),
    "canary.violation/lost": (
        "承诺被破坏：探针的一次已确认的写丢失。",
        "%(last_at)s，%(server)s 的应答中没有它（24 小时内共 %(violations)s 轮）。主库是否被恢复过，或有从库被提升？"
        "版本详情见 Celery 日志。最后一次之后一小时结束。",
    ),
    "canary.violation/twice": (
        "承诺被破坏：探针的一个事件被应用了两次。",
        "于 %(last_at)s 在 %(server)s 的应答中发现（24 小时内共 %(violations)s 轮）。是否有别人在写保留用户？"
        "版本详情见 Celery 日志。最后一次之后一小时结束。",
    ),
    "points.dead": ("%(dead)s 张积分发放单已放弃投递。", "这些用户缺少积分。积分系统恢复后，请在“积分”页面重新发送。"),
    "points.dead/one": ("1 张积分发放单已放弃投递。", "该用户缺少积分。积分系统恢复后，请在“积分”页面重新发送。"),
    "points.waiting/failing": (
        "积分最长已等待 %(wait_ms)s 未能投递。",
        "共 %(waiting)s 张发放单在等，其中 %(indeterminate)s 张结果未知。没有丢失；最近的错误见“积分”页面。",
    ),
    "points.waiting/paused": (
        "积分投递已暂停；最早的发放单已等待 %(wait_ms)s。",
        "共 %(waiting)s 张发放单在等，没有丢失。可在“积分”页面恢复投递。",
    ),
    "points.relay": (
        "积分没有投递：自 %(since_at)s 起没有投递进程在工作。",
        "发放单留在数据库中，没有丢失。请检查 points 队列的 Celery 工作进程和 beat。",
    ),
    "sweep.fails": (
        "自%(since_at)s起无法删除 %(table)s 的旧数据行。",
        "%(reason)s。没有数据丢失，但该表会持续增长。系统每十分钟重试一次；所需权限见 docs/operations.md。",
    ),
    "sweep.late": (
        "%(table)s 的清理自%(began_at)s起尚未完成。",
        "该表会持续增长。请检查 diff 队列的 Celery 工作进程和 beat。",
    ),
    "sweep.late/waits": (
        "%(table)s 的清理自%(began_at)s起尚未完成。",
        "当前状态：%(reason)s。该表会持续增长。如果这种负载属于正常情况，请调高配置 sweep 一节中的上限。",
    ),
    "profiles.down/dead": (
        "档案系统自 %(since_at)s 起无法连接。",
        "在限期内使用较早的值；之后任务所需的用户属性视为未知，用户不符合条件。返回信息：%(reason)s",
    ),
    "profiles.down/slow": (
        "档案系统自 %(since_at)s 起响应过慢。",
        "在限期内使用较早的值；之后任务所需的用户属性视为未知，用户不符合条件。返回信息：%(reason)s",
    ),
    "profiles.down/wrong": (
        "档案系统自 %(since_at)s 起的应答无法使用。",
        "在限期内使用较早的值；之后任务所需的用户属性视为未知，用户不符合条件。约定见 docs/profiles.md。返回信息：%(reason)s",
    ),
    "cache.out/one": (
        "缓存节点 %(node)s 自 %(since_at)s 起没有应答。",
        "它的用户由下一个节点服务，不会看到旧数据；它连续应答数秒并完成清除后自动恢复使用。请检查其 Redis 和主机，或在“缓存”页排空它。",
    ),
    "cache.out/all": (
        "所有缓存节点都没有应答：%(node)s 自 %(since_at)s 起。",
        "所有读由 DBSvr 承担，数据库压力增大，但不会看到旧数据。请检查各节点的 Redis 和主机。",
    ),
    "cache.purges/node": (
        "缓存节点 %(node)s 的清除自 %(since_at)s 起在等待。",
        "其上可能还有 %(purges)s 份旧数据，清除之前没有人使用该节点，其用户由下一个节点服务。请查看缓存同步中心的日志。",
    ),
    "cache.purges/every": (
        "面向所有缓存节点的清除自 %(since_at)s 起在等待。",
        "任何节点上都可能有旧数据（%(purges)s 份），清除之前不使用任何节点，由 DBSvr 服务。请查看缓存同步中心的日志。",
    ),
    "cache.center/idle": (
        "缓存同步中心自 %(since_at)s 起没有工作。",
        "目前没有等待的清除；写操作仍会自行清除它能连上的节点。请检查队列 purge 的 Celery 进程、beat 和消息代理。",
    ),
    "cache.center/waiting": (
        "缓存同步中心自 %(since_at)s 起没有工作，且有清除在等待。",
        "恢复之前没有人使用有等待清除的节点，不会看到旧数据。请检查队列 purge 的 Celery 进程、beat 和消息代理。",
    ),
    "cache.violation": (
        "承诺被破坏：缓存节点 %(node)s 上有旧数据。",
        "检查程序于 %(last_at)s 发现（24 小时内共 %(violations)s 次）。请排空 %(node)s，并保留其日志和 web 日志；"
        "该用户的已知情况见“缓存”页。最后一次之后一小时结束。",
    ),
    "console.blind": (
        "自 %(since_at)s 起本页看不到 DBSvr %(dbsvr)s。",
        "%(dbsvr)s 可能正常，但采样得不到应答（%(why)s）。下方是之前的数据。",
    ),
    "console.blind/back": ("又能看到 DBSvr %(dbsvr)s 了。", "自 %(since_at)s 起曾看不到。连续 5 次应答后本条消失。"),
    "console.blind/all": (
        "自 %(since_at)s 起本页什么都看不到。",
        "采样进程已停止，或连不上数据库。任务系统可能正常。下方是之前的数据。",
    ),
    "console.blind/never": ("本页还没有任何数据。", "采样进程尚未运行。请启动：`python manage.py sampler`。"),
}

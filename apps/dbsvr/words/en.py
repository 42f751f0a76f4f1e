"""The console's sentences in English. Places are filled in by `say`; a per cent sign of the text itself is doubled."""

from __future__ import annotations

AND = ", "
DATABASE_ERRORS = {
    "1062": "error 1062, duplicate key",
    "1032": "error 1032, a row is missing",
    "1236": "error 1236, the master's log is gone",
    "1045": "error 1045, login refused",
    "1950": "error 1950, out of order",
}
WHY_NO_ANSWER = {
    "refused": "connection refused",
    "timeout": "no answer within 1 s",
    "unreachable": "no way to its host",
    "login": "login refused",
    "garbled": "an answer that it does not understand",
}
CAUSES = {
    "promotion": "another server was made the master",
    "restore": "the master was restored to an earlier state",
    "adoption": "an operator adopted a former master",
}

_STOPPED = "Replication on %(replica)s is stopped, without an error."
_BROKE = "Replication on %(replica)s broke: %(error)s."
_BY_HAND = "Somebody or something stopped it at %(since_at)s. "
_BY_ITSELF = "It will not start again by itself. "
_START = " Start it again."
_REPAIR = " Repair %(replica)s, then start it."

SENTENCES: dict[str, tuple[str, str]] = {
    "first": ("Nothing is known yet.", "First figures in 2 s."),
    "ok/reads": (
        "All well.",
        "%(reads_rate)s reads/s, %(replica_share)s of them from replicas, at most %(lag_ms)s behind. "
        "No reads or writes wait longer than %(wait_ms)s.",
    ),
    "ok/writes": (
        "All well.",
        "%(writes_rate)s writes/s and no reads; replicas are at most %(lag_ms)s behind. No write waits longer than %(wait_ms)s.",
    ),
    "ok/pause": ("All well.", "No read or write just now; replicas are at most %(lag_ms)s behind."),
    "idle/idle": (
        "All well, no traffic.",
        "No read or write in the last 60 s. The beat arrives, so this is quiet, not broken.",
    ),
    "replica.lag/falling": (
        "Replica %(replica)s is %(lag_ms)s behind and catching up.",
        "%(late_share)s of reads go to the master because their users wrote in the last %(lag_ms)s. Nobody sees old data. "
        "About %(left_ms)s left. Nothing to do unless it still grows at %(look_minute)s.",
    ),
    "replica.lag/falling_quiet": (
        "Replica %(replica)s is %(lag_ms)s behind and catching up.",
        "There are no reads just now. Nobody sees old data. About %(left_ms)s left. "
        "Nothing to do unless it still grows at %(look_minute)s.",
    ),
    "replica.lag/steady": (
        "Replica %(replica)s is %(lag_ms)s behind and stays there.",
        "%(late_share)s of reads go to the master because their users wrote in the last %(lag_ms)s. Nobody sees old data. "
        "Look for a delay that was set on %(replica)s, or for a host that is too slow.",
    ),
    "replica.lag/steady_quiet": (
        "Replica %(replica)s is %(lag_ms)s behind and stays there.",
        "There are no reads just now. Nobody sees old data. Look for a delay that was set on %(replica)s, or for a host that is too slow.",
    ),
    "replica.lag/growing": (
        "Replica %(replica)s is %(lag_ms)s behind and falling further back (+%(slope_s)s s each second).",
        "The master now answers %(master_share)s of reads, %(most_share)s of the most it has managed. Nobody sees old data. "
        "Look for a long transaction on %(replica)s, or stop using %(replica)s.",
    ),
    "replica.lag/growing_quiet": (
        "Replica %(replica)s is %(lag_ms)s behind and falling further back (+%(slope_s)s s each second).",
        "There are no reads just now. Nobody sees old data. Look for a long transaction on %(replica)s, or stop using %(replica)s.",
    ),
    "replica.stopped/by_hand_serving": (
        _STOPPED,
        _BY_HAND
        + "It still answers for users who have not written since; the master answers for the others. Nobody sees old data."
        + _START,
    ),
    "replica.stopped/by_hand_shared": (_STOPPED, _BY_HAND + "%(others)s and the master serve its reads." + _START),
    "replica.stopped/by_hand_alone": (_STOPPED, _BY_HAND + "The master serves its reads." + _START),
    "replica.stopped/error_serving": (
        _BROKE,
        _BY_ITSELF + "It still answers for users who have not written since; the master answers for the others." + _REPAIR,
    ),
    "replica.stopped/error_shared": (_BROKE, _BY_ITSELF + "%(others)s and the master serve its reads." + _REPAIR),
    "replica.stopped/error_alone": (_BROKE, _BY_ITSELF + "The master serves its reads." + _REPAIR),
    "replica.stopped/cut": (
        "%(replica)s gets nothing from the master.",
        "Its thread that fetches has been off since %(since_at)s; it applies what it has. "
        "It still answers for users who have not written since. "
        "Look at the network between them, and whether somebody stopped that thread.",
    ),
    "replica.stopped/still": (
        "Replica %(replica)s stands still, %(lag_ms)s behind.",
        "Its replication runs but applies nothing: a lock, a long transaction or a delay holds it. Nobody sees old data. "
        "Nothing to do unless it lasts.",
    ),
    "replica.stopped/recovering": (
        "Replication on %(replica)s runs again, %(lag_ms)s behind.",
        "It was stopped or stood still from %(since_at)s. Nobody sees old data. This ends when it has kept up for 15 s.",
    ),
    "replica.stopped/unclear": (
        "Replication on %(replica)s was stopped at %(since_at)s; how far it is behind is unknown.",
        "It serves nothing until that is known again.",
    ),
    "replica.silent/silent": (
        "%(replica)s does not answer (%(age_ms)s).",
        "Its lag is unknown, so it serves nothing. Check the host and the network path from DBSvr %(dbsvr)s.",
    ),
    "replica.silent/no_worker": (
        "%(replica)s has no worker (%(age_ms)s).",
        "Its lag is unknown, so it serves nothing. "
        "Look at the process slave_db_svr for %(replica)s of DBSvr %(dbsvr)s, and at its database.",
    ),
    "replica.silent/back": ("%(replica)s answers again.", "This ends after 5 good answers in a row."),
    "replica.refused/fork": (
        "Replica %(replica)s is refused: it holds writes that the master lacks.",
        "It serves nothing, so nobody is shown them; the other servers take its reads. It will not heal by itself: "
        "rebuild %(replica)s from the master, then say `python -m workers rebuilt %(replica)s --instance %(instance)s`, for each DBSvr.",
    ),
    "replica.refused/waiting": (
        "Replica %(replica)s is not used by DBSvr %(dbsvr)s yet.",
        "The reason: %(refusal)s. The other servers take its reads, and nobody sees old data. "
        "If this stays, look where %(replica)s replicates from.",
    ),
    "replica.refused/back": ("Replica %(replica)s is used again.", "This ends after 5 good samples in a row."),
    "replica.held/shared": (
        "Replica %(replica)s is not used: %(held_by)s has held it since %(held_at)s.",
        "The reason: %(reason)s. %(others)s and the master serve its reads. Nobody sees old data. "
        "Release it on the page Replica diff when it is right again.",
    ),
    "replica.held/alone": (
        "Replica %(replica)s is not used: %(held_by)s has held it since %(held_at)s.",
        "The reason: %(reason)s. The master serves its reads. Nobody sees old data. "
        "Release it on the page Replica diff when it is right again.",
    ),
    "diff.found/used": (
        "%(rows)s rows on %(replica)s differ from the master.",
        "First seen at %(seen_at)s: %(named)s. %(replica)s is used all the same. Look at both rows on the page Replica diff, then repair.",
    ),
    "diff.found/held": (
        "%(rows)s rows on %(replica)s differ from the master.",
        "First seen at %(seen_at)s: %(named)s. %(replica)s is held, so nobody is shown them. "
        "Look at both rows on the page Replica diff, then repair.",
    ),
    "diff.found/one_used": (
        "A row on %(replica)s differs from the master.",
        "First seen at %(seen_at)s: %(named)s. %(replica)s is used all the same. Look at both rows on the page Replica diff, then repair.",
    ),
    "diff.found/one_held": (
        "A row on %(replica)s differs from the master.",
        "First seen at %(seen_at)s: %(named)s. %(replica)s is held, so nobody is shown it. "
        "Look at both rows on the page Replica diff, then repair.",
    ),
    "diff.gap/part": (
        "%(gap_share)s of %(table)s on %(replica)s was not compared.",
        "Run %(run)s: %(reason)s. What was compared is shown on the page Replica diff.",
    ),
    "diff.gap/all": (
        "%(table)s on %(replica)s was not compared as a whole.",
        "Run %(run)s: %(reason)s. What was compared is shown on the page Replica diff.",
    ),
    "replicas.none/busy": (
        "No replica can serve.",
        "The master answers every read: %(most_share)s of the most it has managed. Reads stay right; they may become slow.",
    ),
    "replicas.none/quiet": ("No replica can serve.", "The master answers every read. Reads stay right; they may become slow."),
    "replicas.none/back": ("A replica serves again.", "This ends when one has served for 15 s."),
    "replica.share/low": (
        "Replicas answer only %(served_share)s of the reads that they may answer.",
        "The master takes %(spill_rate)s reads/s from them because they are busy. Nobody sees old data. "
        "Look at the replicas' processor, or raise `spill_depth`.",
    ),
    "master.down/refusing": (
        "Writes are refused: the master does not answer (%(age_ms)s).",
        "%(refused)s writes got MASTERDOWN; clients repeat them with the same event id. Reads that replicas may serve go on. "
        "Look at the master's host and its log.",
    ),
    "master.down/quiet": (
        "Writes would be refused: the master does not answer (%(age_ms)s).",
        "Nobody has tried to write since. Reads that replicas may serve go on. Look at the master's host and its log.",
    ),
    "master.down/back": (
        "The master answers again.",
        "It was away for %(age_ms)s; %(refused)s writes got MASTERDOWN. This ends after 5 commits in a row.",
    ),
    "master.beat/late": (
        "The master has not committed for %(age_ms)s although its connection lives.",
        "It is frozen or its disk is full. Lag figures are unknown until it commits again.",
    ),
    "master.beat/back": ("The master commits again.", "This ends when it has kept its beat for 10 s."),
    "master.two/now": (
        "Two databases take writes: whoever writes to the wrong one loses what he writes.",
        "Said by the DBSvr: %(warning)s. The DBSvr itself writes only to its master. "
        "Make the other one read_only, then rebuild it as a replica.",
    ),
    "master.two/back": ("Only one database takes writes again.", "This ends after 5 good samples in a row."),
    "writes.lost/named": (
        "%(writes)s acknowledged writes of DBSvr %(dbsvr)s are lost: %(cause)s.",
        "It went on as generation %(generation)s without them. Their users see the state before. All of them stand in %(file)s, "
        "with uid and event id: have them sent again with the same event ids. This ends after 24 h.",
    ),
    "writes.lost/some": (
        "At least %(writes)s acknowledged writes of DBSvr %(dbsvr)s are lost: %(cause)s.",
        "It went on as generation %(generation)s without them. Those that are known stand in %(file)s, with uid and event id: "
        "have them sent again with the same event ids. More may be lost: compare with what the logic servers sent. This ends after 24 h.",
    ),
    "writes.lost/unnamed": (
        "Acknowledged writes of DBSvr %(dbsvr)s may be lost: %(cause)s.",
        "It went on as generation %(generation)s, and does not know what was acknowledged before. Compare with what the logic servers sent "
        "shortly before, and have it sent again with the same event ids. This ends after 24 h.",
    ),
    "segment.away/taken": (
        "Segment %(segment)s is with DBSvr %(owner)s instead of DBSvr %(home)s.",
        "It was taken over at %(since_at)s because DBSvr %(home)s stood still. Its users are served, and nobody sees old data. "
        "Look at DBSvr %(home)s; the segment goes back by itself when that is healthy.",
    ),
    "segment.away/given": (
        "Segment %(segment)s is with DBSvr %(owner)s instead of DBSvr %(home)s.",
        "It was given to it at %(since_at)s. Its users are served, and nobody sees old data. "
        "It goes back by itself when DBSvr %(home)s is healthy.",
    ),
    "segment.away/unclear": (
        "Segment %(segment)s is with DBSvr %(owner)s instead of DBSvr %(home)s.",
        "So since %(since_at)s at the latest. Its users are served, and nobody sees old data. "
        "It goes back by itself when DBSvr %(home)s is healthy.",
    ),
    "segment.taking/now": (
        "DBSvr %(owner)s is taking segment %(segment)s over.",
        "Its home is DBSvr %(home)s. Until the lease of the owner before has run out, its users are read from the master, "
        "and clients repeat their writes. Nothing to do unless it lasts for more than 10 s.",
    ),
    "segment.none/now": (
        "Segment %(segment)s has no owner that answers.",
        "DBSvr %(owner)s is gone, and no other has taken the segment over. Its users' writes are refused; "
        "their reads come from the master. Another DBSvr takes over as soon as clients ask it for these users, "
        "but not twice within `dbsvr.hold_ms`. Bring DBSvr %(owner)s back.",
    ),
    "peer.away/now": (
        "DBSvr %(dbsvr)s cannot reach DBSvr %(owner)s, which answers us.",
        "Writes for users of %(owner)s that come to %(dbsvr)s are refused with NOTOWNER; clients that reach %(owner)s are not concerned. "
        "A segment that is handed over takes no trails along. "
        "Look at the network between the two, at `dbsvr.instances` on both hosts, and at the secret.",
    ),
    "peer.away/back": ("DBSvr %(dbsvr)s reaches DBSvr %(owner)s again.", "This ends after 5 good samples in a row."),
    "config.skew/now": (
        "%(processes)s logic processes do not use revision %(revision)s of the tasks.",
        "The oldest that one of them uses is %(using)s: %(others)s. They serve all the same, by those tasks. "
        "Look at /healthz and at the log of these hosts; an older version of the program may not know something in the new revision.",
    ),
    "config.skew/back": ("All logic processes use revision %(revision)s of the tasks.", "This ends after 5 good samples in a row."),
    "config.damaged/now": (
        "The newest publication of the tasks cannot be read.",
        "Revision %(revision)s stays in use everywhere (%(damage)s). Publish again; keep the row in `config_revision` for whoever looks "
        "for the cause.",
    ),
    "config.damaged/none": (
        "The newest publication of the tasks cannot be read.",
        "There is none before it, so no logic process has tasks (%(damage)s). Publish again.",
    ),
    "config.damaged/back": ("The newest publication of the tasks can be read again.", "Revision %(revision)s is in use."),
    "config.unseen/now": (
        "The published tasks cannot be looked at.",
        "Revision %(revision)s stays in use; what is published now reaches nobody. Users are served as ever. The database says: "
        "%(reason)s. `python -m workers check` says what to do.",
    ),
    "config.unseen/none": (
        "The published tasks cannot be looked at.",
        "No logic process that starts now has tasks. The database says: %(reason)s. `python -m workers check` says what to do.",
    ),
    "config.unseen/back": ("The published tasks can be looked at again.", "Revision %(revision)s is in use (%(reason)s)."),
    "queue.query.age/busy": (
        "Reads wait up to %(wait_ms)s.",
        "%(waiting)s wait. The master answers %(master_share)s of reads, %(most_share)s of the most it has managed. "
        "Add a worker, or raise `spill_depth` if the master has room.",
    ),
    "queue.query.age/waiting": ("Reads wait up to %(wait_ms)s.", "%(waiting)s wait and none is answered. Look at the workers' processes."),
    "queue.finish.age/waiting": (
        "Writes wait up to %(wait_ms)s.",
        "%(waiting)s wait. The master's commits are slow, or its worker is busy. Look at the master's disk.",
    ),
    "queue.clear.age/waiting": (
        "The oldest deletion waits %(wait_ms)s.",
        "Deletions run only when no write and no read waits. %(waiting)s wait. Nothing to do unless it passes 60 min.",
    ),
    "overload/refusing": (
        "DBSvr %(dbsvr)s turns requests away: %(refused)s in the last 10 s.",
        "Clients are told to retry a little later. Demand is %(demand_rate)s/s, the most it has shown is %(most_rate)s reads/s.",
    ),
    "overload/over": (
        "DBSvr %(dbsvr)s takes all requests again.",
        "It turned some away a moment ago. This ends after 30 s without one. Demand is %(demand_rate)s/s.",
    ),
    "dbsvr.down/refused": (
        "DBSvr %(dbsvr)s is gone since %(since_at)s: nothing listens on its port.",
        "It serves nobody until it is back. Its supervisor starts it again by itself; if it does not, look at the log of its front.",
    ),
    "dbsvr.down/still": (
        "DBSvr %(dbsvr)s is gone since %(since_at)s: it gives no answer and its tick stands still.",
        "It serves nobody until it is back. Look at its host and its processes, and at the master.",
    ),
    "dbsvr.down/back": ("DBSvr %(dbsvr)s answers again.", "It was gone from %(since_at)s. This ends after 5 answers in a row."),
    "canary.violation/old": (
        "A promise was broken: the canary was shown an old state.",
        "At %(last_at)s %(server)s answered older than what had been acknowledged (%(violations)s such rounds in 24 h). "
        "Take %(server)s out of use if it is a replica and keep its logs; the log of Celery has the versions. "
        "This ends an hour after the last one.",
    ),
    "canary.violation/lost": (
        "A promise was broken: an acknowledged write of the canary is missing.",
        "At %(last_at)s %(server)s answered without it (%(violations)s such rounds in 24 h). Was the master restored or a replica "
        "promoted? The log of Celery has the versions. This ends an hour after the last one.",
    ),
    "canary.violation/twice": (
        "A promise was broken: an event of the canary was applied twice.",
        "Seen at %(last_at)s in an answer of %(server)s (%(violations)s such rounds in 24 h). Does anybody else write the reserved users? "
        "The log of Celery has the versions. This ends an hour after the last one.",
    ),
    "points.dead": (
        "%(dead)s grants of points were given up.",
        "Their users miss points. When the points system takes grants again, send them again on the page Points.",
    ),
    "points.dead/one": (
        "One grant of points was given up.",
        "Its user misses points. When the points system takes grants again, send it again on the page Points.",
    ),
    "points.waiting/failing": (
        "Points have waited for up to %(wait_ms)s to be delivered.",
        "%(waiting)s grants wait, %(indeterminate)s of them without a known outcome. Nothing is lost. The page Points has the last error.",
    ),
    "points.waiting/paused": (
        "The delivery of points is paused; the oldest grant has waited for %(wait_ms)s.",
        "%(waiting)s grants wait. Nothing is lost. Resume it on the page Points.",
    ),
    "points.relay": (
        "No points are delivered: no relay has worked since %(since_at)s.",
        "Grants wait in the database, and nothing is lost. Look at the Celery worker of queue points, and at beat.",
    ),
    "sweep.fails": (
        "Old rows of %(table)s cannot be deleted since %(since_at)s.",
        "%(reason)s. Nothing is lost, and the table grows. It is tried again every ten minutes; the rights that it needs stand in "
        "docs/operations.md.",
    ),
    "sweep.late": (
        "The sweep of %(table)s has not come to its end since %(began_at)s.",
        "The table grows. Look at the Celery worker of queue diff, and at beat.",
    ),
    "sweep.late/waits": (
        "The sweep of %(table)s has not come to its end since %(began_at)s.",
        "It %(reason)s. The table grows. Where that is as it should be, raise the limits in section sweep of the configuration.",
    ),
    "profiles.down/dead": (
        "The profile system cannot be reached since %(since_at)s.",
        "Older values are used, within their limit; after that what tasks ask of users is unknown, and they are not eligible. "
        "It said: %(reason)s",
    ),
    "profiles.down/slow": (
        "The profile system is too slow since %(since_at)s.",
        "Older values are used, within their limit; after that what tasks ask of users is unknown, and they are not eligible. "
        "It said: %(reason)s",
    ),
    "profiles.down/wrong": (
        "The profile system answers what cannot be used since %(since_at)s.",
        "Older values are used, within their limit; after that what tasks ask of users is unknown, and they are not eligible. "
        "The contract is in docs/profiles.md. It said: %(reason)s",
    ),
    "cache.out/one": (
        "Cache node %(node)s does not answer since %(since_at)s.",
        "Its users are served by the next node. Nobody sees old data: it is used again when it has answered for some seconds and its "
        "purges are done. Look at its Redis and its host, or drain it on the page Cache.",
    ),
    "cache.out/all": (
        "No cache node answers: %(node)s since %(since_at)s.",
        "The DBSvr serves all reads, so the databases have more to do. Nobody sees old data. Look at the nodes' Redis and hosts.",
    ),
    "cache.purges/node": (
        "Cache node %(node)s has purges that wait since %(since_at)s.",
        "%(purges)s stale copies may lie there, so nobody uses the node until they are gone. Its users are served by the next node. "
        "Look at the log of the cache sync center.",
    ),
    "cache.purges/every": (
        "Purges for every cache node wait since %(since_at)s.",
        "%(purges)s stale copies may lie anywhere, so nobody uses any node until they are gone: the DBSvr serves. "
        "Look at the log of the cache sync center.",
    ),
    "cache.center/idle": (
        "The cache sync center does not work since %(since_at)s.",
        "No purge waits. A write still purges the nodes that it can reach by itself. Look at the Celery worker of queue purge, at beat "
        "and at the broker.",
    ),
    "cache.center/waiting": (
        "The cache sync center does not work since %(since_at)s, and purges wait.",
        "Nodes with purges that wait are used by nobody until it is back; nobody sees old data. Look at the Celery worker of queue purge, "
        "at beat and at the broker.",
    ),
    "cache.violation": (
        "A promise was broken: cache node %(node)s had an old copy.",
        "Seen by the checker at %(last_at)s (%(violations)s times in 24 h). Drain %(node)s, and keep its log and that of the web: the page "
        "Cache has what was known of the user. This ends an hour after the last one.",
    ),
    "console.blind": (
        "This page is blind to DBSvr %(dbsvr)s since %(since_at)s.",
        "%(dbsvr)s may be well. The sampler gets no answer (%(why)s). Figures below are from before.",
    ),
    "console.blind/back": (
        "DBSvr %(dbsvr)s can be seen again.",
        "This page was blind from %(since_at)s. This ends after 5 answers in a row.",
    ),
    "console.blind/all": (
        "This page is blind since %(since_at)s.",
        "The sampler has stopped or cannot reach the database. The task system may be well. Figures below are from before.",
    ),
    "console.blind/never": (
        "This page has never seen anything.",
        "The sampler has not run yet. Start it: `python manage.py sampler`.",
    ),
}

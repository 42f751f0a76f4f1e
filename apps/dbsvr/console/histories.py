"""What a chart draws, read from the samples: for scripts, for the table page and for CSV alike."""

from __future__ import annotations

from typing import NamedTuple

from apps.dbsvr import samples
from apps.dbsvr.console.charts import Chart, Series, server_series
from apps.dbsvr.series import Grid, Value, grid, start_of
from apps.dbsvr.steps import Step


class History(NamedTuple):
    chart: Chart
    series: list[Series]
    grid: Grid


def newest(step: Step, instance: str) -> int | None:
    """The beginning of the newest step that has a row, or None when there is no history."""
    return samples.newest_at(step.seconds, instance)


def read(charts: list[Chart], step: Step, instance: str, now: float, since: int | None = None) -> list[History]:
    """The charts over their window, or only what is newer than `since`. Two queries, however many charts."""
    upto = newest(step, instance)
    if upto is None:
        return [History(chart, _series(chart, []), Grid([], [], [[] for _one in _series(chart, [])])) for chart in charts]
    first = samples.oldest_at(step.seconds, instance)
    start = start_of(step.window_s, step.seconds, now, first)
    after = start if since is None else max(since, start)
    columns = sorted({column for chart in charts for one in chart.series for column in one.columns})
    rows = samples.read_columns(step.seconds, instance, columns or ["reads"], after, upto)
    place = {column: index for index, column in enumerate(columns)}
    histories = []
    for column in sorted({chart.server_column for chart in charts if chart.server_column}):
        by_at = samples.read_servers(step.seconds, instance, column, after, upto)
        servers = samples.servers(instance, step.seconds, start)
        for chart in charts:
            if chart.server_column == column:
                series = _series(chart, servers)
                values = {at: [_scaled(by_at.get(at, {}).get(one.key), chart) for one in series] for at in rows}
                histories.append(History(chart, series, grid(values, len(series), step.seconds, after, upto)))
    for chart in charts:
        if not chart.server_column:
            drawn = {
                at: [_scaled(_total([row[place[it]] for it in one.columns]), chart) for one in chart.series] for at, row in rows.items()
            }
            histories.append(History(chart, list(chart.series), grid(drawn, len(chart.series), step.seconds, after, upto)))
    order = {chart.key: index for index, chart in enumerate(charts)}
    return sorted(histories, key=lambda history: order[history.chart.key])


def _series(chart: Chart, servers: list[str]) -> list[Series]:
    if not chart.server_column:
        return list(chart.series)
    # The master is never behind itself.
    return [one for one in server_series(servers) if chart.server_column != "lag_ms" or one.key != "master"]


def _total(values: list[Value]) -> Value:
    return None if None in values else sum(value for value in values if value is not None)


def _scaled(value: Value, chart: Chart) -> Value:
    return None if value is None else value * chart.scale

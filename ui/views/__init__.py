"""One thin script per page: ask components for input, the store or the engine for data, and draw.

To add a page, add a file here and a `View` for it to `VIEWS` in `ui/shell/navigation.py`, which gives it its place,
title and icon. A page asks `ui.components` for its parts (`opened_run`, `grid`, `draw_figure`), the store for its data
(`ui.shell.workspace.store()`), and keeps the open run, edge and event in `ui.shell.state.state`, so that its URL can be
shared. Lists that grow with the data are paged. `retractions.py` is a short page, `changelog.py` a typical one.
"""

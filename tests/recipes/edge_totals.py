"""Edges: how many records each edge of the chosen run carried."""

from ui.components.grid import Cell, Row, Table, grid
from ui.components.runs.open_run import opened_run
from ui.shell import workspace

run = opened_run()
if run is not None:
    edges = workspace.store().runs.edges(run.run_id)
    rows = [Row((Cell(edge.node, is_strong=True), Cell(f"{edge.total:,}", is_number=True))) for edge in edges]
    grid(Table(("edge", "records"), rows, frozenset({"records"})), key="edges", height=300, label="Edges")

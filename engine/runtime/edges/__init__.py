"""The data between steps: files of records, views of them, and the steps that are computed as they are written.

records      a run's edges as tasks and Spark read them
views        edges with the same records as another edge
edge_files   writes an edge, and the stateless steps that follow it
arrow_native stateless steps in Arrow
projections  a stateless step as one function of Arrow columns, or as a selection of columns
native       stateless steps in Spark SQL, for expressions that only Spark can evaluate
"""

"""What lies between steps: files of records, views of them, and the steps that are computed as they are written.

records      a run's edges as tasks and Spark read them
views        which edges say what another one says
edge_files   what a task writes of an edge, and of the stateless steps that follow it
arrow_native stateless steps in Arrow
native       stateless steps in Spark SQL, where an expression is Spark's alone
"""

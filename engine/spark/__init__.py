"""Spark itself: engines, the servers that the studio starts, sessions, and the app's access to the files of a run.

engines         engines by name, with their tokens
java            a Java to run Spark on
servers         the studio's own Spark Connect servers: found or started
keeper          the process that keeps one of them, and stops it when idle
jvm_guard       stops the JVM together with its keeper
worker_daemon   the process from which Python workers are forked
class_archive   an archive of classes for faster JVM starts
session         a session on each engine
retrying        the retries of a client
cancelling      interrupts the jobs of a run
left_behind     ends jobs that a killed process left on a server
probing         tests an engine
workspace       the files of a run, as tasks see them
run_files       the same files, as the app accesses them
engine_storage  files that only an engine sees
failures        errors of workers as one sentence of one node
memory          the memory limits of the JVM and of Python workers
processes       processes by their ids
analyzer        checks expressions
type_names      Spark's types, under the names of schemas
"""

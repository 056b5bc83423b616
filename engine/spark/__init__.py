"""Spark itself: engines, the servers that we start for them, sessions, and how the app gets at the files of a run.

engines        engines by name, with their tokens
java           a Java to run Spark on
servers        Spark Connect servers of our own: found or started
keeper         the process that keeps one of them, and ends it when idle
jvm_guard      its JVM ends with it
worker_daemon  what its Python workers are forked from
class_archive  what makes a start of a JVM faster
archiving      makes that
session        a session on each engine
retrying       how long a client waits for a server
cancelling     interrupts the jobs of a run
left_behind    ends what a killed process has left on a server
probing        tests an engine
workspace      the files of a run, as tasks see them
run_files      the same files, as the app gets at them
analyzer       checks expressions
"""

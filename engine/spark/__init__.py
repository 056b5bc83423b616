"""Spark itself: a Java to run it on, sessions and their JVM, the class archive, the folder of a run."""

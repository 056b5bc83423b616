"""Flink, for checking: what a run read goes through Flink with the pipeline's own SQL, and its changelog is compared.

environment  where Flink is installed: its own environment beside the store, or one that a setting names
inside       the jobs, run in Flink's interpreter
process      that interpreter as a process: started when it is needed, ended when idle
values       our values and Flink's in one form
question     a run as a job for Flink, or why Flink cannot be asked
comparison   both changelogs: equal, equal but for an order that Flink leaves open, the same table, or different
known        the differences that FLINK.md lists, recognised
asking       all of it for one run
gateway      a SQL Gateway of the user's: its REST API
gateway_script, gateway_answers     a job as statements for it, and its rows as an answer
places       which of the two is asked

All of the project that asks Flink, its differential tests too, asks here.
"""

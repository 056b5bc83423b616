"""Requests from outside: who may reach the studio, how people log in, and rows that programs post to it."""

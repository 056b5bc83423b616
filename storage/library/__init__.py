"""The user's library: pipelines with their versions, drafts, runs, recordings, conditions and checks."""

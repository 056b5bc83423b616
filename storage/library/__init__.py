"""What a person made and ran: pipelines with their versions, drafts, runs, and what a run hands back."""

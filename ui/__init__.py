"""The Streamlit app. `python3 -m ui` makes its environment and starts it; this file imports nothing."""

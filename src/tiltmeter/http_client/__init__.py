"""HTTP requests with retries, and limits of rate and size: JSON requests and downloads. Messages contain no secrets."""

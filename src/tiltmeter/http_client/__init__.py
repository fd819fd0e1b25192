"""HTTP requests: JSON requests to servers, and streamed files, with retries, limits, and no secrets in messages."""

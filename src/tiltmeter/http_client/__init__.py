"""HTTP requests with retries, and limits of rate and size: JSON requests and downloads. Error messages hide secrets."""

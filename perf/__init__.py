"""How fast Tiltmeter is, beside the way the papers' released code works; `README.md` tells how to run it."""

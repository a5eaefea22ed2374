"""Speed and quality, measured beside other libraries; see README.md."""

"""The service for agents that speak MCP (Model Context Protocol): the mail tools, asking, and verifying, at `/mcp`."""

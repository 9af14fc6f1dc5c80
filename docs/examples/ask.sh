curl --silent --show-error "$MAILSEARCH_URL/v1/search" \
  -H "Authorization: Bearer $MAILSEARCH_KEY" -H "Content-Type: application/json" \
  -d '{"query": "Did Nordlicht accept liability for the damage to the Golf?", "mode": "agentic"}'

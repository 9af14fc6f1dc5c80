curl --silent --show-error --no-buffer "$MAILSEARCH_URL/v1/search" \
  -H "Authorization: Bearer $MAILSEARCH_KEY" -H "Content-Type: application/json" \
  -d '{"query": "What does Nordlicht pay while the Golf is in the garage?", "mode": "agentic", "stream": true}'

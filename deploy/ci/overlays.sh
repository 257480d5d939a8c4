# Reads OVERLAYS, one file a line, into the arguments of a command: "${overlays[@]}". Sourced by the steps of CI.
set -euo pipefail
overlays=()
while IFS= read -r overlay; do
  if [ -n "$overlay" ]; then overlays+=(--overlay "$overlay"); fi
done <<< "${OVERLAYS:-}"

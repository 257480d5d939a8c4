/** Requirements of operating a gateway from the command line: terminal output, status, reload, doctor, the admin API. */
export const OPERATE = {
  "cli.colors": "Commands color a terminal only, and not when `NO_COLOR` is set.",
  "cli.columns":
    "Tables and texts of commands are aligned by visible width, wide characters included, and wrapped to the terminal's.",
  "cli.hostile-text": "Control characters in texts of others are printed as escapes.",
} as const;

#!/usr/bin/env node
/** The program: arguments to a command, its exit code to the shell. Each command is loaded only when it is asked for. */
import { main } from "./cli/main.ts";

process.exitCode = await main(process.argv.slice(2));

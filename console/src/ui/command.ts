/** Commands of the shell, as pages show them. */
import { facts } from "../facts";

/** A call with curl, in the words of the console: a server that speaks a dialect is asked to understand them. */
export const inOwnWords = (command: string): string => (facts.dialect ? command.replaceAll("curl -", 'curl -H "X-Dialect: none" -') : command);

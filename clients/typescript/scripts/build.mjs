// Builds the package as modules and as CommonJS (dist), and the driver of the scenarios with it (build).
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";

const compile = (project) => execFileSync("tsc", ["-p", project], { stdio: "inherit" });
for (const folder of ["dist", "build"]) rmSync(folder, { recursive: true, force: true });
compile("tsconfig.json");
compile("tsconfig.cjs.json");
writeFileSync("dist/cjs/package.json", '{ "type": "commonjs" }\n');
compile("tsconfig.scenarios.json");
writeFileSync("build/done", "");

// Checks the page and bundles it into the files that the service serves: `make page`.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const target = process.argv[2] ?? `${here}../kgsvc/api/http/static`;
const run = (program, ...given) =>
  execFileSync(`${here}node_modules/.bin/${program}`, given, { cwd: here, stdio: ["ignore", "ignore", "inherit"] });

mkdirSync(`${here}build`, { recursive: true });
run("openapi-typescript", `${here}../kgsvc/api/http/openapi.json`, "-o", `${here}build/contract.d.ts`);
execFileSync(`${here}node_modules/.bin/tsc`, [], { cwd: here, stdio: "inherit" });
rmSync(target, { recursive: true, force: true });
await esbuild.build({
  absWorkingDir: here,
  entryPoints: ["src/page.tsx", "src/page.css"],
  bundle: true,
  minify: true,
  legalComments: "inline",
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  outdir: target,
});
copyFileSync(`${here}src/index.html`, `${target}/index.html`);

// The documentation of what a program may use. The contract's own messages, which it names here and there, are documented
// by proto/.
import { OptionDefaults } from "typedoc";

export default {
  entryPoints: ["src/index.ts"],
  out: "build/docs",
  readme: "README.md",
  blockTags: [...OptionDefaults.blockTags, "@generated"],
  disableSources: true,
  githubPages: false,
  validation: { invalidLink: true, notExported: false },
  treatWarningsAsErrors: true,
  treatValidationWarningsAsErrors: true,
};

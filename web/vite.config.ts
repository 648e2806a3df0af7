import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { loadEnv } from "vite";
import { defineConfig } from "vitest/config";

// A sum of all that the page is built from, so that a test can tell, without node.js, whether dist belongs to
// these sources.
function sources(): string {
  const files = ["index.html", "package.json", "package-lock.json", "svelte.config.js", "tsconfig.json",
    "vite.config.ts"];
  for (const dir of ["public", "src"])
    for (const e of readdirSync(dir, { recursive: true, withFileTypes: true }))
      if (e.isFile() && !e.name.endsWith(".test.ts")) files.push(`${e.parentPath}/${e.name}`);
  const sum = createHash("sha256");
  for (const f of files.sort()) sum.update(`${f}\0`).update(readFileSync(f)).update("\0");
  return sum.digest("hex") + "\n";
}

// Names without hashes: the same sources give the same dist, and a change of one file changes one file.
export default defineConfig(({ mode }) => ({
  plugins: [svelte(), { name: "sources", generateBundle()
    { this.emitFile({ type: "asset", fileName: "sources.sha256", source: sources() }) } }],
  base: "./",
  build: {
    target: "es2022",
    sourcemap: false,
    license: { fileName: "licenses.md" }, // of what is bundled
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0, // data: addresses are not allowed by the page's policy
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      output: { entryFileNames: "assets/[name].js", chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/[name][extname]" },
    },
  },
  worker: { format: "es", rolldownOptions: { output: { entryFileNames: "assets/[name].js" } } },
  server: { proxy: { "/api": loadEnv(mode, ".", "WHYSLOW").WHYSLOW || "http://127.0.0.1:8080" } },
  // Tests change nothing that others see, so they share a process and what it has loaded.
  test: { include: ["src/**/*.test.ts"], environment: "node", pool: "threads", isolate: false },
}));

import { svelte } from "@sveltejs/vite-plugin-svelte";
import { loadEnv } from "vite";
import { defineConfig } from "vitest/config";

// Names without hashes: the same sources give the same dist, and a change of one file changes one file.
export default defineConfig(({ mode }) => ({
  plugins: [svelte()],
  base: "./",
  build: {
    target: "es2022",
    sourcemap: false,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0, // data: addresses are not allowed by the page's policy
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      output: { entryFileNames: "assets/[name].js", chunkFileNames: "assets/[name].js", assetFileNames: "assets/[name][extname]" },
    },
  },
  worker: { format: "es", rolldownOptions: { output: { entryFileNames: "assets/[name].js" } } },
  server: { proxy: { "/api": loadEnv(mode, ".", "WHYSLOW").WHYSLOW || "http://127.0.0.1:8080" } },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
}));

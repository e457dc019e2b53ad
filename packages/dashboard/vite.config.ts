import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// Relative addresses: the server says with <base> where the dashboard is mounted.
export default defineConfig({
  base: './',
  plugins: [react(), tailwindcss()],
  build: {
    outDir: '../server/dashboard',
    emptyOutDir: true,
    // A strict content policy refuses inlined data and scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 800,
  },
  server: { host: '127.0.0.1', proxy: { '/api': 'http://127.0.0.1:4600' } },
});

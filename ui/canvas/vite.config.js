import { createHash } from 'node:crypto'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { defineConfig } from 'vite'
import { build } from 'esbuild'
import react from '@vitejs/plugin-react'

// The digest of everything that the bundle is made of. It is built into the bundle and into the package's version, so
// that a test can tell, without npm, that the committed bundle is the one that these sources build.
const inSrc = readdirSync('src', { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
const files = [
  'package-lock.json',
  'package.json',
  'vite.config.js',
  ...inSrc.map((file) => `${file.parentPath}/${file.name}`),
].sort()
const digest = createHash('sha256')
for (const name of files) digest.update(`${name}\0`).update(readFileSync(name)).update('\0')
const sources = digest.digest('hex').slice(0, 12)

// In one file each, since pages contain them that load nothing: rollup would share chunks with the canvas.
const inlined = {
  name: 'inlined',
  closeBundle: async () => {
    const outdir = 'changelog_studio_canvas/dist'
    // No text may end the script element that contains it.
    /** @type {import('esbuild').BuildOptions} */
    const common = { outdir, bundle: true, minify: true, target: 'es2022', charset: 'ascii' }
    const define = { __SOURCES__: JSON.stringify(sources) }
    await build({
      ...common,
      entryPoints: { picture: 'src/picture/main.js', shots: 'src/picture/shots.js', commands: 'src/commands/main.js' },
      format: 'esm',
      define,
    })
    await build({ ...common, entryPoints: { camera: 'src/graph/camera.js' }, format: 'iife', globalName: 'camera' })
    // A page that contains it has less than 1 MB. Its style sheet is that of maps.
    const global = { global: 'globalThis' }
    const charts = await build({ ...common, entryPoints: ['src/charts/main.js'], define: global, write: false })
    const script = charts.outputFiles.find((file) => file.path.endsWith('.js'))
    if (script) writeFileSync(`${outdir}/charts.js.gz`, gzipSync(script.contents, { level: 9 }))
  },
}

const manifests = {
  name: 'version-from-sources',
  closeBundle() {
    for (const name of ['pyproject.toml', 'changelog_studio_canvas/pyproject.toml']) {
      writeFileSync(name, readFileSync(name, 'utf8').replace(/^version = ".*"$/m, `version = "1.0.0+s${sources}"`))
    }
  },
}

// Not `build.lib`: it leaves the bundle unminified.
export default defineConfig({
  plugins: [react(), inlined, manifests],
  define: { __SOURCES__: JSON.stringify(sources), 'process.env.NODE_ENV': '"production"' },
  build: {
    outDir: 'changelog_studio_canvas/dist',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: false,
    rollupOptions: {
      input: { canvas: 'src/main.jsx', editor: 'src/editor/main.js' },
      preserveEntrySignatures: 'strict',
      output: { entryFileNames: '[name].js', format: 'es' },
    },
  },
})

import js from '@eslint/js'
import reactHooks from 'eslint-plugin-react-hooks'
import { defineConfig, globalIgnores } from 'eslint/config'
import globals from 'globals'

export default defineConfig([
  globalIgnores(['build/', 'changelog_studio_canvas/']),
  js.configs.recommended,
  { files: ['src/**'], languageOptions: { globals: { ...globals.browser, __SOURCES__: 'readonly' } } },
  { files: ['*.js', 'tests/**'], languageOptions: { globals: globals.node } },
  {
    files: ['src/**/*.{js,jsx}'],
    languageOptions: { parserOptions: { ecmaFeatures: { jsx: true } } },
    plugins: { 'react-hooks': reactHooks },
    // The plugin's other rules are for React's compiler, which does not build this.
    rules: { 'react-hooks/rules-of-hooks': 'error', 'react-hooks/exhaustive-deps': 'error' },
  },
])

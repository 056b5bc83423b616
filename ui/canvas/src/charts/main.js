// The chart library of exported pages: of plotly.js, what the pages draw. Points of `scattergl` are drawn by `scatter`.
import Plotly from 'plotly.js/lib/core'
import bar from 'plotly.js/lib/bar'
import heatmap from 'plotly.js/lib/heatmap'
import sankey from 'plotly.js/lib/sankey'

Plotly.register([bar, heatmap, sankey])
Object.assign(globalThis, { Plotly })

// The callbacks that nodes and edges need from their canvas.
import { createContext } from 'react'

/** @import { PictureActions } from '../types' */

const nothing = () => {}

/** @type {PictureActions} */
const READ_ONLY = { tip: nothing, problems: nothing, pick: nothing, open: nothing, fold: nothing }

export const Picture = createContext(READ_ONLY)

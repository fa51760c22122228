import type { Scene } from '../stage.js';
import { askingScenes } from './asking.js';
import { familyScenes } from './family.js';
import { feedScenes } from './feed.js';
import { holdingScenes } from './holding.js';
import { owningScenes } from './owning.js';
import { wakingScenes } from './waking.js';

export const scenes: readonly Scene[] = [...wakingScenes, ...owningScenes, ...askingScenes, ...familyScenes, ...feedScenes, ...holdingScenes];

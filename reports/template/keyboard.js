// Keys while the chart has the focus.

import { sentence } from './describe.js';
import { firstInView, nextHit } from './walk.js';

const PAN_SHARE = 0.15;  // of the width
const SCROLL = 60;       // px
const ZOOM = 1.5;

function panBy(app, direction) {
  const { viewport } = app.chart;
  viewport.panBy(-direction * PAN_SHARE * (viewport.right - viewport.left));
}

function walkTo(app, target) {
  if (target === null) return false;
  app.focus(target);
  app.say(sentence(target));
  return true;
}

function enter(app) {
  const { focused } = app.pointed;
  if (focused === null) {
    if (!walkTo(app, firstInView(app.chart))) app.say('nothing to walk through');
    return;
  }
  app.select(focused);
  app.say(`selected ${sentence(focused)}; ${app.details.summary}`);
}

// Tab leaves the chart unless a slice has the focus; at the last one it leaves too.
function tab(app, event) {
  const { focused } = app.pointed;
  if (focused === null) return false;
  return walkTo(app, nextHit(app.chart, focused, event.shiftKey ? -1 : 1));
}

function escape(app) {
  app.pointAtNothing();
  app.say('no slice has the focus');
}

// Each returns false to leave the key to the browser.
const ACTIONS = {
  ArrowLeft: (app) => panBy(app, -1),
  ArrowRight: (app) => panBy(app, 1),
  ArrowUp: (app) => app.chart.scroller.scrollBy(0, -SCROLL),
  ArrowDown: (app) => app.chart.scroller.scrollBy(0, SCROLL),
  '+': (app) => app.chart.viewport.zoomBy(ZOOM),
  '=': (app) => app.chart.viewport.zoomBy(ZOOM),
  '-': (app) => app.chart.viewport.zoomBy(1 / ZOOM),
  0: (app) => app.chart.viewport.fit(),
  f: (app) => app.chart.viewport.fit(),
  '/': (app) => app.toolbar.search.focus(),
  Tab: tab,
  Enter: enter,
  Escape: escape,
};

export function listenToKeys(app) {
  app.chart.surface.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const action = ACTIONS[event.key];
    if (action !== undefined && action(app, event) !== false) event.preventDefault();
  });
}

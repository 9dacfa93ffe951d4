// What the flame graph and the waterfall share: colours of phases, and arrow keys between boxes.

/** Gives the class of a phase, as the report was written with. */
function phaseColors() {
  let classes = {};
  try {
    classes = pageHeader().colors ?? {};
  } catch {
    // What is wrong with the data is said where the plots are read.
  }
  return (phase) => (phase && Object.hasOwn(classes, phase) ? classes[phase] : 'plain');
}

/** Goes from the box that has the focus to the nearest one in the direction of an arrow key. */
function moveAmong(place, event) {
  const step = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[event.key];
  const here = document.activeElement;
  if (!step || !place.contains(here)) return;
  event.preventDefault();
  const at = (box) => [parseFloat(box.style.left), parseFloat(box.style.top), parseFloat(box.style.width)];
  const [x, y, wide] = at(here);
  const fits = [...place.querySelectorAll('.box')].filter((box) => {
    const [left, top, width] = at(box);
    if (step[1] === 0) return top === y && (left - x) * step[0] > 0;
    return (top - y) * step[1] > 0.1 && left <= x + wide && left + width >= x;
  });
  const far = (box) => {
    const [left, top] = at(box);
    return [Math.abs(top - y), Math.abs(left - x)];
  };
  const [nearest] = fits.sort((a, b) => far(a)[0] - far(b)[0] || far(a)[1] - far(b)[1]);
  if (nearest) {
    here.tabIndex = -1;
    nearest.tabIndex = 0;
    nearest.focus();
  }
}

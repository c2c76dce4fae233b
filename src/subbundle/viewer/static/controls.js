// Turning, panning and zooming with mouse, wheel and touch. The vertical axis stays vertical, as on a turntable.

// Radians turned by a drag across the height of the view, and the least angle to the vertical.
const HALF_TURN = Math.PI;
const STEEPEST = 0.02;

export class Controls {
  /** `flat` views only pan and zoom. `changed` is called after every change of `camera`. */
  constructor(THREE, camera, surface, flat, changed) {
    Object.assign(this, { THREE, camera, surface, flat, changed });
    this.target = new THREE.Vector3();
    this.enabled = true;
    this.pointers = new Map();
    this._listeners = {
      pointerdown: (event) => this._down(event),
      pointermove: (event) => this._move(event),
      pointerup: (event) => this._up(event),
      pointercancel: (event) => this._up(event),
      wheel: (event) => this._wheel(event),
      contextmenu: (event) => event.preventDefault(),
    };
    for (const [name, listener] of Object.entries(this._listeners)) surface.addEventListener(name, listener, { passive: false });
  }

  dispose() {
    for (const [name, listener] of Object.entries(this._listeners)) this.surface.removeEventListener(name, listener);
  }

  /** Point the camera at the target. */
  update() {
    if (!this.flat) this.camera.lookAt(this.target);
    this.camera.updateMatrixWorld();
    this.changed();
  }

  _down(event) {
    if (!this.enabled) return;
    this.surface.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, event);
  }

  _up(event) {
    this.pointers.delete(event.pointerId);
  }

  _move(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before || !this.enabled) return;
    const moved = [event.clientX - before.clientX, event.clientY - before.clientY];
    if (this.pointers.size === 2) this._pinch(event, moved);
    else if (this.flat || before.buttons & 6 || before.ctrlKey || before.metaKey) this.pan(...moved);
    else this.turn(...moved);
    this.pointers.set(event.pointerId, event);
  }

  /** Two fingers: their distance zooms, their middle pans. */
  _pinch(event, moved) {
    const other = [...this.pointers.values()].find((pointer) => pointer.pointerId !== event.pointerId);
    const mine = this.pointers.get(event.pointerId);
    const apart = (pointer) => Math.hypot(pointer.clientX - other.clientX, pointer.clientY - other.clientY) || 1;
    this.pan(moved[0] / 2, moved[1] / 2);
    this.zoom(apart(event) / apart(mine), (event.clientX + other.clientX) / 2, (event.clientY + other.clientY) / 2);
  }

  _wheel(event) {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 20 * event.deltaY : event.deltaY;
    this.zoom(Math.exp(-0.0012 * Math.max(-240, Math.min(240, lines))), event.clientX, event.clientY);
  }

  /** Turn around the target by a drag of so many pixels. */
  turn(dx, dy) {
    const { THREE, camera } = this;
    const scale = HALF_TURN / Math.max(this.surface.clientHeight, 1);
    const offset = camera.position.clone().sub(this.target);
    const away = offset.length();
    const azimuth = Math.atan2(offset.y, offset.x) - dx * scale;
    const tilt = Math.acos(Math.max(-1, Math.min(1, offset.z / away))) - dy * scale;
    const angle = Math.max(STEEPEST, Math.min(Math.PI - STEEPEST, tilt));
    const flat = away * Math.sin(angle);
    camera.position.copy(this.target).add(new THREE.Vector3(flat * Math.cos(azimuth), flat * Math.sin(azimuth), away * Math.cos(angle)));
    this.update();
  }

  /** Units of the data across one pixel, at the target. */
  unitsPerPixel() {
    const { camera, surface } = this;
    if (this.flat) return (camera.top - camera.bottom) / camera.zoom / surface.clientHeight;
    const away = camera.position.distanceTo(this.target);
    return (2 * away * Math.tan((camera.fov * Math.PI) / 360)) / surface.clientHeight;
  }

  pan(dx, dy) {
    const { THREE, camera } = this;
    const units = this.unitsPerPixel();
    const right = new THREE.Vector3().setFromMatrixColumn(camera.matrixWorld, 0);
    const up = new THREE.Vector3().setFromMatrixColumn(camera.matrixWorld, 1);
    const shift = right.multiplyScalar(-dx * units).add(up.multiplyScalar(dy * units));
    camera.position.add(shift);
    this.target.add(shift);
    this.update();
  }

  /** Come nearer by a factor; what lies under [x, y] of the page stays there. */
  zoom(factor, x, y) {
    const { camera, surface } = this;
    const box = surface.getBoundingClientRect();
    const [dx, dy] = [x - (box.left + box.width / 2), y - (box.top + box.height / 2)];
    this.pan(-dx, -dy);
    if (this.flat) {
      camera.zoom *= factor;
      camera.updateProjectionMatrix();
    } else camera.position.sub(this.target).divideScalar(factor).add(this.target);
    this.pan(dx, dy);
  }
}

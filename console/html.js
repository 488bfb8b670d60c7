import htm from 'htm';
import { h } from 'preact';

/** Templates become virtual nodes: values are set as text or properties, never parsed as HTML. */
export const html = htm.bind(h);

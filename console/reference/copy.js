/** Gives each code block of a guide, and the first call of the reference, a button that copies it, and keyboards a way to scroll it. */
for (const block of document.querySelectorAll('.guide pre, .start pre:not([hidden])')) {
  const text = block.textContent ?? '';
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    const copied = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    );
    // Browsers give the clipboard to pages with TLS or on this machine only.
    if (!copied) getSelection()?.selectAllChildren(block);
    button.textContent = copied ? 'Copied' : 'Selected';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 1_500);
  });
  block.setAttribute('tabindex', '0');
  const frame = document.createElement('div');
  frame.className = 'code';
  block.replaceWith(frame);
  frame.append(block, button);
}

/** @returns a function that makes the form of an ingest request, anew for each try */
export function ingestForm(
  database: string,
  fields: Record<string, unknown>,
  file?: { name: string; content: string },
): () => FormData {
  return () => {
    const form = new FormData();
    form.set('database', database);
    for (const [name, value] of Object.entries(fields))
      form.set(name, typeof value === 'string' ? value : JSON.stringify(value));
    if (file) form.set('documents', new Blob([file.content]), file.name);
    return form;
  };
}

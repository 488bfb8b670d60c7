import type { oas31 } from 'zod-openapi';
import { indented, javascriptLiteral, pythonLiteral, quoteForShell } from './sample-literals.js';

/** An entry of `x-codeSamples`, which documentation pages show beside an operation. */
export interface CodeSample {
  lang: 'Shell' | 'TypeScript' | 'Python';
  label: string;
  source: string;
}

/** A request with the example values of its operation. */
interface SampleRequest {
  method: string;
  /** With names in braces. */
  path: string;
  pathValues: Record<string, string>;
  query: Record<string, string>;
  /** Headers of the operation; that of the key is not among them. */
  headers: Record<string, string>;
  key: KeyUse | null;
  /** A JSON body. */
  body?: unknown;
  form: Form | undefined;
  response: 'json' | 'text' | 'file' | 'events';
}

interface KeyUse {
  header: string;
  /** What the header has before the key. */
  prefix: string;
  /** The environment variable with the key. */
  variable: string;
}

interface Form {
  /** Text, or what the field has as JSON text. */
  fields: Record<string, unknown>;
  /** The field that takes a file. */
  file: string;
}

/** The variables from which samples take keys, by security scheme. */
const KEY_VARIABLES: Record<string, string> = {
  api_key: 'POSTBACK_KEY',
  organisation_key: 'POSTBACK_KEY',
  crew_key: 'POSTBACK_CREW_KEY',
  payment_key: 'POSTBACK_PAYMENT_KEY',
  operator_token: 'POSTBACK_OPERATOR_TOKEN',
};

const FILE = 'handbook.pdf';

/**
 * Adds `x-codeSamples` to each operation: the request with its example values for curl, the TypeScript client and Python's
 * `requests`. The address and the keys are environment variables.
 */
export function addCodeSamples(document: oas31.OpenAPIObject): oas31.OpenAPIObject {
  for (const [path, methods] of Object.entries(document.paths ?? {})) {
    for (const [method, operation] of Object.entries(methods as Record<string, oas31.OperationObject>)) {
      const request = sampleRequest(document, method, path, operation);
      Object.assign(operation, {
        'x-codeSamples': [
          { lang: 'Shell', label: 'curl', source: curlSample(request) },
          {
            lang: 'TypeScript',
            label: 'TypeScript',
            // The typed client has no deprecated routes.
            source: operation.deprecated ? fetchSample(request) : clientSample(request),
          },
          { lang: 'Python', label: 'Python', source: pythonSample(request) },
        ] satisfies CodeSample[],
      });
    }
  }
  return document;
}

function sampleRequest(
  document: oas31.OpenAPIObject,
  method: string,
  path: string,
  operation: oas31.OperationObject,
): SampleRequest {
  const parameters = (operation.parameters ?? []) as oas31.ParameterObject[];
  const values = (place: string) =>
    Object.fromEntries(
      parameters.flatMap((parameter) => {
        const value = exampleOf(parameter);
        return parameter.in === place && value !== undefined ? [[parameter.name, value]] : [];
      }),
    );
  const content = (operation.requestBody as oas31.RequestBodyObject | undefined)?.content ?? {};
  const form = content['multipart/form-data']?.schema as oas31.SchemaObject | undefined;
  // Where a request may have either, the sample shows the form, which can do more.
  const body = form === undefined ? content['application/json']?.example : undefined;
  const scheme = Object.keys(operation.security?.[0] ?? {})[0];
  return {
    method: method.toUpperCase(),
    path,
    pathValues: values('path'),
    query: values('query'),
    headers: values('header'),
    key: scheme === undefined ? null : keyUse(document, scheme),
    body,
    form: form && formOf(form),
    response: responseOf(operation),
  };
}

/** Of a required parameter, or of one whose declaration has an example for it alone. */
function exampleOf({ required, example, schema }: oas31.ParameterObject): string | undefined {
  const declared = example ?? (required ? (schema as oas31.SchemaObject | undefined)?.example : undefined);
  return declared === undefined ? undefined : String(declared);
}

function keyUse(document: oas31.OpenAPIObject, name: string): KeyUse {
  const scheme = document.components?.securitySchemes?.[name] as oas31.SecuritySchemeObject;
  const variable = KEY_VARIABLES[name] ?? 'POSTBACK_KEY';
  return scheme.type === 'apiKey'
    ? { header: scheme.name!, prefix: '', variable }
    : { header: 'Authorization', prefix: 'Bearer ', variable };
}

function formOf({ properties = {}, required = [] }: oas31.SchemaObject): Form {
  const entries = Object.entries(properties as Record<string, oas31.SchemaObject>);
  const isFile = (schema: oas31.SchemaObject | undefined) => schema?.format === 'binary';
  const file =
    entries.find(([, schema]) => isFile(schema) || isFile(schema.items as oas31.SchemaObject))?.[0] ?? 'file';
  // The metadata of the file gives it the id that later requests name.
  const isShown = (name: string) => required.includes(name) || name === 'document_metadata';
  const fields = entries.filter(([name, { example }]) => isShown(name) && name !== file && example !== undefined);
  return { fields: Object.fromEntries(fields.map(([name, { example }]) => [name, example])), file };
}

function responseOf({ responses = {} }: oas31.OperationObject): SampleRequest['response'] {
  const success = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1] as oas31.ResponseObject;
  const [type = 'application/json'] = Object.keys(success.content ?? {});
  if (type === 'application/json') return 'json';
  if (type === 'text/event-stream') return 'events';
  return type === '*/*' ? 'file' : 'text';
}

/** The path with its values and its query. */
function addressOf({ path, pathValues, query }: SampleRequest): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(pathValues[name] ?? name));
  const search = new URLSearchParams(query).toString();
  return search === '' ? filled : `${filled}?${search}`;
}

function curlSample(request: SampleRequest): string {
  const { method, key, headers, body, form, response } = request;
  const accept = response === 'events' ? { Accept: 'text/event-stream' } : {};
  const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
  const implied = method === 'GET' || (method === 'POST' && (body !== undefined || form !== undefined));
  const options = [
    ...(response === 'events' ? ['-N'] : []),
    ...(implied ? [] : [`-X ${method}`]),
    ...(key ? [`-H "${key.header}: ${key.prefix}$${key.variable}"`] : []),
    ...Object.entries({ ...headers, ...accept, ...type }).map(([name, value]) => `-H "${name}: ${value}"`),
    ...(form ? curlForm(form) : []),
    ...(body === undefined ? [] : [`-d ${quoteForShell(JSON.stringify(body, null, 2))}`]),
    ...(response === 'file' ? [`-o ${FILE}`] : []),
  ];
  return [`curl "$POSTBACK_URL${addressOf(request)}"`, ...options].join(' \\\n  ');
}

function curlForm({ fields, file }: Form): string[] {
  const texts = Object.entries(fields).map(([name, value]) => {
    return typeof value === 'string'
      ? `-F ${name}=${value}`
      : `-F ${quoteForShell(`${name}=${JSON.stringify(value)}`)}`;
  });
  return [`-F ${file}=@${FILE}`, ...texts];
}

function clientSample(request: SampleRequest): string {
  const { method, path, pathValues, query, key, body, form, response } = request;
  const params = Object.entries({ path: pathValues, query }).filter(([, values]) => Object.keys(values).length > 0);
  const init = [
    ...(params.length > 0 ? [`params: ${javascriptLiteral(Object.fromEntries(params))}`] : []),
    ...(body === undefined ? [] : [`body: ${javascriptLiteral(body)}`]),
    ...(form ? [`body: ${formFields(form)}`, 'bodySerializer: multipart'] : []),
    ...(response === 'events' ? ["headers: { Accept: 'text/event-stream' }"] : []),
    ...(response === 'json' ? [] : [`parseAs: '${{ text: 'text', file: 'blob', events: 'stream' }[response]}'`]),
  ];
  const call = `postback.${method}('${path}'${init.length === 0 ? '' : `, {\n${init.map((line) => indented(line, 2)).join(',\n')},\n}`})`;
  return [
    ...(form ? ["import { openAsBlob } from 'node:fs';"] : []),
    `import { ${['bodyOf', 'createPostback', ...(form ? ['multipart'] : [])].join(', ')} } from 'postback-client';`,
    '',
    `const postback = createPostback({ url: process.env.POSTBACK_URL!, key: ${key ? `process.env.${key.variable}!` : "''"} });`,
    `const result = await bodyOf(${call});`,
    response === 'events' ? 'for await (const bytes of result!) process.stdout.write(bytes);' : 'console.log(result);',
  ].join('\n');
}

function formFields({ fields, file }: Form): string {
  const blob = `await openAsBlob('${FILE}')`;
  const list = file === 'documents' ? `[${blob}]` : blob;
  const others = Object.entries(fields).map(([name, value]) => `  ${name}: ${javascriptLiteral(value)},\n`);
  return `{\n  ${file}: ${list},\n${others.join('')}}`;
}

function fetchSample(request: SampleRequest): string {
  const { method, key, headers, body } = request;
  const sent = [
    ...(key ? [`'${key.header}': \`${key.prefix}\${process.env.${key.variable}}\``] : []),
    ...Object.entries({ ...headers, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) }).map(
      ([name, value]) => `'${name}': '${value}'`,
    ),
  ];
  return [
    `const response = await fetch(\`\${process.env.POSTBACK_URL}${addressOf(request)}\`, {`,
    `  method: '${method}',`,
    `  headers: { ${sent.join(', ')} },`,
    ...(body === undefined ? [] : [`${indented(`body: JSON.stringify(${javascriptLiteral(body)})`, 2)},`]),
    '});',
    'console.log(await response.json());',
  ].join('\n');
}

function pythonSample(request: SampleRequest): string {
  const { method, key, headers, body, form, response } = request;
  const sent = [
    ...(key ? [`"${key.header}": ${key.prefix === '' ? '' : `"${key.prefix}" + `}os.environ["${key.variable}"]`] : []),
    ...Object.entries({ ...headers, ...(response === 'events' ? { Accept: 'text/event-stream' } : {}) }).map(
      ([name, value]) => `"${name}": "${value}"`,
    ),
  ];
  const lines = [
    `os.environ["POSTBACK_URL"] + "${addressOf(request)}"`,
    ...(sent.length > 0 ? [`headers={${sent.join(', ')}}`] : []),
    ...(body === undefined ? [] : [`json=${pythonLiteral(body)}`]),
    ...(form ? pythonForm(form) : []),
    ...(response === 'events' ? ['stream=True'] : []),
  ];
  const usesJson = Object.values(form?.fields ?? {}).some((value) => typeof value !== 'string');
  return [
    ...(usesJson ? ['import json'] : []),
    'import os',
    '',
    'import requests',
    '',
    `response = requests.${method.toLowerCase()}(`,
    ...lines.map((line) => `${indented(line, 4)},`),
    ')',
    'response.raise_for_status()',
    ...PYTHON_USE[response],
  ].join('\n');
}

function pythonForm({ fields, file }: Form): string[] {
  const texts = Object.entries(fields).map(([name, value]) => {
    const literal = pythonLiteral(value);
    return `    "${name}": ${typeof value === 'string' ? literal : `json.dumps(${literal})`},\n`;
  });
  return [`files={"${file}": open("${FILE}", "rb")}`, ...(texts.length > 0 ? [`data={\n${texts.join('')}}`] : [])];
}

const PYTHON_USE: Record<SampleRequest['response'], readonly string[]> = {
  json: ['print(response.json())'],
  text: ['print(response.text)'],
  file: [`with open("${FILE}", "wb") as file:`, '    file.write(response.content)'],
  events: ['for line in response.iter_lines(decode_unicode=True):', '    print(line)'],
};

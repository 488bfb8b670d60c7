import { type Field, field, fieldHeader, readFields } from '../protobuf.js';

/** Field numbers of onnx.proto. */
const MODEL = { graph: 7, opset: 8 } as const;
const GRAPH = { node: 1, initializer: 5, input: 11, output: 12, valueInfo: 13 } as const;
const NODE = { input: 1, output: 2, name: 3, opType: 4, attribute: 5, domain: 7 } as const;
const VALUE_INFO = { name: 1 } as const;
const INT_TYPE = 2;
const INT64_TYPE = 7;
/** The domain of onnxruntime's own operators. */
const ORT = 'com.microsoft';

interface Node {
  inputs: string[];
  outputs: string[];
  /** As a field of the graph. */
  raw: Buffer;
}

/** Arguments of the operator `Slice`: from index 0 to 1 of axis 1. */
const FIRST_TOKEN = [
  { name: 'first_token_start', value: 0 },
  { name: 'first_token_end', value: 1 },
  { name: 'first_token_axis', value: 1 },
].map(({ name, value }) => {
  const tensor = [field(1, 1), field(2, INT64_TYPE), field(7, Buffer.from([value])), field(8, name)];
  return { name, raw: field(GRAPH.initializer, Buffer.concat(tensor)) };
});

/**
 * Makes a quantised BERT encoder cheaper without a change of its weights. Each layer's attention (reshape, transpose, two
 * products, mask, softmax) becomes one operator of onnxruntime, which never holds the whole matrix of attention. The last
 * layer computes only the first token of each text, because only that token is used.
 * All texts of a batch must have the same number of tokens, because the mask of padding is removed.
 * @param heads of the model's attention
 * @returns the model unchanged when it is not built like the exports of `transformers`
 */
export function fuseModel(model: Buffer, heads: number): Buffer {
  const parts = readFields(model);
  const graph = parts.find(({ number }) => number === MODEL.graph);
  const fused = graph && fuseGraph(readFields(graph.value as Buffer), heads);
  if (!fused) return model;
  const opset = Buffer.concat([field(1, ORT), field(2, 1)]);
  const others = parts.filter((part) => part !== graph).map(({ raw }) => raw);
  // One copy only: the weights are large.
  const length = fused.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([...others, field(MODEL.opset, opset), fieldHeader(MODEL.graph, length), ...fused]);
}

/** @returns the fields of the fused graph */
function fuseGraph(fields: readonly Field[], heads: number): Buffer[] | undefined {
  const nodes = fields.filter(({ number }) => number === GRAPH.node).map(({ value }) => readNode(value as Buffer));
  const producers = new Map(nodes.flatMap((node) => node.outputs.map((output) => [output, node] as const)));
  const layers = countLayers(producers);
  if (layers === 0) return undefined;

  for (let layer = 0; layer < layers; layer += 1) {
    const names = namesOf(layer);
    if (![names.query, names.key, names.value, names.sum].every((name) => producers.has(name))) return undefined;
    const isLast = layer === layers - 1;
    const query = isLast ? firstToken(names.query, producers) : names.query;
    if (isLast) {
      const sum = producers.get(names.sum)!;
      const residual = sum.inputs.find((input) => input !== names.projected)!;
      producers.set(names.sum, replaceInput(sum, residual, firstToken(residual, producers)));
    }
    const attention = createNode('MultiHeadAttention', [query, names.key, names.value], names.attention, ORT, [
      Buffer.concat([field(1, 'num_heads'), field(3, heads), field(20, INT_TYPE)]),
    ]);
    producers.set(names.attention, attention);
  }

  const outputs = fields
    .filter(({ number }) => number === GRAPH.output)
    .map(({ value }) => text(value, VALUE_INFO.name));
  const needed = inOrder(outputs, producers);
  const read = new Set(needed.flatMap(({ inputs }) => inputs));
  const kept = fields.filter(({ number, value }) => {
    if (number === GRAPH.node || number === GRAPH.valueInfo) return false;
    return number !== GRAPH.input || read.has(text(value, VALUE_INFO.name));
  });
  return [...needed, ...kept, ...FIRST_TOKEN].map(({ raw }) => raw);
}

/** The tensors of a layer, as the exports of `transformers` name them. */
function namesOf(layer: number) {
  const path = `/encoder/layer.${layer}/attention`;
  return {
    query: `${path}/self/query/Add_output_0`,
    key: `${path}/self/key/Add_output_0`,
    value: `${path}/self/value/Add_output_0`,
    /** The values of all heads, beside each other. */
    attention: `${path}/self/Reshape_3_output_0`,
    projected: `${path}/output/dense/Add_output_0`,
    /** The projected attention and what it is added to. */
    sum: `${path}/output/Add_output_0`,
  };
}

function countLayers(producers: ReadonlyMap<string, Node>): number {
  let layers = 0;
  while (producers.has(namesOf(layers).attention)) layers += 1;
  return layers;
}

function readNode(raw: Buffer): Node {
  const texts = new Map<number, string[]>([
    [NODE.input, []],
    [NODE.output, []],
  ]);
  for (const { number, value } of readFields(raw)) texts.get(number)?.push(String(value));
  return { inputs: texts.get(NODE.input)!, outputs: texts.get(NODE.output)!, raw: field(GRAPH.node, raw) };
}

function createNode(opType: string, inputs: string[], output: string, domain = '', attributes: Buffer[] = []): Node {
  const message = [
    ...inputs.map((input) => field(NODE.input, input)),
    field(NODE.output, output),
    field(NODE.name, output),
    field(NODE.opType, opType),
    ...attributes.map((attribute) => field(NODE.attribute, attribute)),
    field(NODE.domain, domain),
  ];
  return { inputs, outputs: [output], raw: field(GRAPH.node, Buffer.concat(message)) };
}

/** @returns the node with the tensor `to` in the place of the input `from` */
function replaceInput(node: Node, from: string, to: string): Node {
  const [{ value }] = readFields(node.raw) as [Field];
  const parts = readFields(value as Buffer).map((part) =>
    part.number === NODE.input && String(part.value) === from ? field(NODE.input, to) : part.raw,
  );
  const inputs = node.inputs.map((input) => (input === from ? to : input));
  return { ...node, inputs, raw: field(GRAPH.node, Buffer.concat(parts)) };
}

/** Adds the slice of a tensor (texts, tokens, dimensions) that holds the first token of each text. @returns its name */
function firstToken(tensor: string, producers: Map<string, Node>): string {
  const name = `${tensor}_first`;
  producers.set(name, createNode('Slice', [tensor, ...FIRST_TOKEN.map((constant) => constant.name)], name));
  return name;
}

/** @returns the nodes that the outputs need, each after those whose results it reads */
function inOrder(outputs: readonly string[], producers: ReadonlyMap<string, Node>): Node[] {
  const ordered = new Set<Node>();
  const visit = (tensor: string) => {
    const node = producers.get(tensor);
    if (!node || ordered.has(node)) return;
    for (const input of node.inputs) visit(input);
    ordered.add(node);
  };
  for (const output of outputs) visit(output);
  return [...ordered];
}

/** @returns the content of the first such field of a message */
function text(message: Buffer | number, number: number): string {
  return String(readFields(message as Buffer).find((part) => part.number === number)?.value ?? '');
}

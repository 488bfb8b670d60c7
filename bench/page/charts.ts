import { createRequire } from 'node:module';

/** What is used of ECharts, a package of bench/ alone: `npm run bench -- page` installs it on first use. */
interface ECharts {
  init(
    dom: null,
    theme: null,
    options: { renderer: 'svg'; ssr: boolean; width: number; height: number },
  ): { setOption(option: object): void; renderToSVGString(options: { useViewBox: boolean }): string; dispose(): void };
}

/** The compiled code is elsewhere, where Node does not look for the packages of bench/. */
const fromBench = createRequire(new URL('../../../bench/package.json', import.meta.url));

export interface BarChartData {
  title: string;
  unit: string;
  /** The bars, from top to bottom. */
  names: readonly string[];
  /** By name of the series; null where a bar has no such part. Several series are stacked. */
  series: Record<string, (number | null)[]>;
}

const WIDTH = 900;
const BAR = 34;
/** For the title, the axis and the legend. */
const MARGINS = 120;

/** Draws horizontal bars. @returns an SVG document @throws Error when the packages of bench/ are not installed */
export function drawBars(data: BarChartData): string {
  const { title, unit, names, series } = data;
  const { init } = fromBench('echarts') as ECharts;
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height: MARGINS + BAR * names.length });
  const stacked = Object.keys(series).length > 1;
  chart.setOption({
    animation: false,
    backgroundColor: '#ffffff',
    title: { text: title, textStyle: { fontSize: 16 } },
    legend: stacked ? { bottom: 0, itemGap: 32 } : { show: false },
    // Without a DOM the width of a text is not known, so the space for the names is fixed.
    grid: { left: 310, right: 64, top: 44, bottom: 72 },
    xAxis: { type: 'value', name: unit, nameLocation: 'middle', nameGap: 26 },
    yAxis: { type: 'category', inverse: true, data: [...names] },
    series: Object.entries(series).map(([name, values]) => ({
      name,
      type: 'bar',
      data: values,
      ...(stacked ? { stack: 'all' } : { label: { show: true, position: 'right' } }),
    })),
  });
  const svg = chart.renderToSVGString({ useViewBox: true });
  chart.dispose();
  return svg.replace('</svg>', `<metadata>${asXmlText(data)}</metadata>\n</svg>`);
}

/** What a chart shows is also in it as data: tests compare that with the results, without ECharts. */
export function dataOf(svg: string): BarChartData {
  return JSON.parse(/<metadata>(.*)<\/metadata>/.exec(svg)![1]!);
}

function asXmlText(data: object): string {
  return JSON.stringify(data).replaceAll('&', '\\u0026').replaceAll('<', '\\u003c');
}

import { BarChart } from 'echarts/charts';
import { GridComponent, LegendComponent, TitleComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';

use([BarChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);

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

/** Draws horizontal bars. @returns an SVG document */
export function drawBars({ title, unit, names, series }: BarChartData): string {
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
    series: Object.entries(series).map(([name, data]) => ({
      name,
      type: 'bar' as const,
      data,
      ...(stacked ? { stack: 'all' } : { label: { show: true, position: 'right' as const } }),
    })),
  });
  const svg = chart.renderToSVGString({ useViewBox: true });
  chart.dispose();
  return svg;
}

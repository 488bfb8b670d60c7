import { describe, expect, test } from '@jest/globals';
import { readParagraphs } from '../../bench/graph/labelled.js';
import { precision, recall, scoreOf, statedRelations, sum } from '../../bench/graph/score.js';
import { buildGraph } from '../../providers/graph/build-graph.js';

const graphOf = (text: string) => buildGraph([{ chunk_id: 'chk_0', text }]);
const stated = (text: string) =>
  statedRelations(graphOf(text)).map(({ source, relation, target }) => `${source} | ${relation} | ${target}`);

describe('subjects', () => {
  test('a time or place at the start of a sentence is not its subject', () => {
    expect(stated('In 2019 Acme Robotics acquired Nordic Grippers.')).toEqual([
      'Acme Robotics | acquired in | 2019',
      'Acme Robotics | acquired | Nordic Grippers',
    ]);
  });

  test('each clause has its own subject', () => {
    expect(stated('Dana Levi announced on Monday that Acme Robotics will open a factory near Leipzig.')).toEqual([
      'Acme Robotics | will open near | Leipzig',
    ]);
    expect(stated('Anna Berg left Oslo, and Tom Farrow joined Microsoft, which owns GitHub.')).toEqual([
      'Anna Berg | left | Oslo',
      'Tom Farrow | joined | Microsoft',
      'Microsoft | owns | GitHub',
    ]);
  });

  test('verbs that are joined have the same subject', () => {
    expect(stated('Acme Robotics employs 320 people and sells to BMW and Bosch.')).toEqual([
      'Acme Robotics | sells to | BMW',
      'Acme Robotics | sells to | Bosch',
    ]);
  });

  test('what is done to a subject keeps its words', () => {
    expect(stated('Brightline Software was founded by Sara Conti in 1998.')).toEqual([
      'Brightline Software | was founded by | Sara Conti',
      'Brightline Software | was founded in | 1998',
    ]);
    expect(stated('Founded in 1998 by Sara Conti, Brightline Software sells planning tools.')).toEqual([
      'Brightline Software | was founded in | 1998',
      'Brightline Software | was founded by | Sara Conti',
      'Brightline Software | sells | planning tool',
    ]);
  });

  test('a clause about a description belongs to the name that it describes', () => {
    expect(stated('Toni Morrison, a novelist who won the Nobel Prize, taught at Princeton University.')).toEqual([
      'Toni Morrison | won | Nobel Prize',
      'Toni Morrison | taught at | Princeton University',
    ]);
  });

  test('a title of nobility and a whole date are kept together', () => {
    expect(stated('William, Duke of Normandy, won the Battle of Hastings on 14 October 1066.')).toEqual([
      'William | won | Battle of Hastings',
      'William | won on | 14 October 1066',
      'William | is Duke of | Normandy',
    ]);
  });

  test('conditions, questions and denials state nothing', () => {
    expect(stated('If Acme Corp buys Globex Ltd, Anna Berg will leave Acme Corp.')).toEqual([]);
    expect(stated('Did Anna Berg work for Globex Ltd?')).toEqual([]);
    expect(stated('Anna Berg denied that Acme Corp had sold data to Globex Ltd.')).toEqual([]);
  });
});

describe('descriptions beside a name', () => {
  test('are what the name is, and no subjects of their own', () => {
    expect(stated('Nordic Grippers, a Swedish maker of vacuum cups, sells to BMW.')).toEqual(
      [
        'Nordic Grippers | sells to | BMW',
        'Nordic Grippers | is | Swedish maker',
        'Nordic Grippers | is maker of | vacuum cup',
      ].map((each) => each.replace('is maker', 'is Swedish maker')),
    );
  });

  test('relate a person to whose colleague, chief or relative it is', () => {
    expect(stated('Acme Robotics grew. Its chief executive, Dana Levi, lives in Haifa.')).toEqual([
      'Dana Levi | lives in | Haifa',
      'Dana Levi | is | chief executive',
      'Dana Levi | is chief executive of | Acme Robotics',
    ]);
    expect(stated('Marie Curie taught her daughter, Irène Joliot-Curie.')).toContain(
      'Irène Joliot-Curie | is daughter of | Marie Curie',
    );
  });
});

describe('references', () => {
  test('a pronoun is the only person or organisation that fits', () => {
    expect(stated('Marie Curie moved to Paris. In 1895 she married Pierre Curie.')).toEqual([
      'Marie Curie | moved to | Paris',
      'Marie Curie | married in | 1895',
      'Marie Curie | married | Pierre Curie',
    ]);
    expect(stated('Acme Robotics is a maker of robots. It acquired Nordic Grippers.')).toContain(
      'Acme Robotics | acquired | Nordic Grippers',
    );
  });

  test('"the company" and "the city" are what has been called so', () => {
    expect(stated('Acme Robotics grew. The company sells to BMW.')).toEqual(['Acme Robotics | sells to | BMW']);
    expect(stated('Hamburg is a port city. The city lies on the Elbe.')).toContain('Hamburg | lies on | Elbe');
  });

  test('"they" and "their" are the names that are joined', () => {
    const text = 'Anna Berg and Tom Farrow founded Acme Robotics. They sold the company to Globex Ltd.';
    expect(stated(text)).toEqual(
      expect.arrayContaining(['Anna Berg | sold company to | Globex Ltd', 'Tom Farrow | sold company to | Globex Ltd']),
    );
    expect(stated('Anna Berg met Clara Holm. They work for Microsoft.')).toEqual(['Anna Berg | met | Clara Holm']);
  });

  test('a counted plural is as many names as it says', () => {
    const both = 'Marie Curie and Pierre Curie met. The two physicists received the Nobel Prize.';
    expect(stated(both)).toEqual(['Marie Curie | received | Nobel Prize', 'Pierre Curie | received | Nobel Prize']);
    expect(stated(both.replace('two', 'three'))).toEqual([]);
  });

  test('a title stands for the person later', () => {
    expect(stated('Mayor Lena Fischer opened the bridge. The mayor thanked Globex Ltd.')).toEqual([
      'Lena Fischer | thanked | Globex Ltd',
    ]);
  });

  test('a defined term and an abbreviation are the name that they follow', () => {
    expect(
      stated('Northwind Traders (the "Supplier") delivers to Contoso Ltd. The Supplier is based in Hamburg.'),
    ).toEqual(['Northwind Traders | delivers to | Contoso Ltd', 'Northwind Traders | is based in | Hamburg']);
    expect(stated('The European Space Agency (ESA) launched Juice. ESA operates Juice from Darmstadt.')).toContain(
      'European Space Agency | operates from | Darmstadt',
    );
  });

  test('a company by its seat is the company that was named, and not the subject of the same clause', () => {
    expect(stated('Toyo Steel left Osaka. The Kobe-based company sells to Honda.')).toContain(
      'Toyo Steel | sells to | Honda',
    );
    expect(stated('OpenAI moved to Berlin. Microsoft has invested in the company.')).toContain(
      'Microsoft | has invested in | OpenAI',
    );
  });

  test('a reference with two possible meanings has none', () => {
    expect(stated('Anna Berg met Clara Holm. She works for Microsoft.')).toEqual(['Anna Berg | met | Clara Holm']);
    expect(stated('Acme Corp sued Globex Ltd. The company sells to BMW.')).toEqual(['Acme Corp | sued | Globex Ltd']);
  });
});

describe('names', () => {
  test('a nationality is a part of a longer name', () => {
    expect(stated('The French Revolution began in 1789. The Dutch Republic was recognised by Spain.')).toEqual([
      'French Revolution | began in | 1789',
      'Dutch Republic | was recognised by | Spain',
    ]);
  });

  test('an apostrophe, a year and a preposition do not end a name that they belong to', () => {
    expect(stated("The Treaty of Westphalia ended the Thirty Years' War in 1648.")).toContain(
      "Treaty of Westphalia | ended | Thirty Years' War",
    );
    expect(stated("The Eiffel Tower was built by Gustave Eiffel for the 1889 World's Fair.")).toEqual([
      'Eiffel Tower | was built by | Gustave Eiffel',
      "Eiffel Tower | was built for | World's Fair",
    ]);
    expect(stated('Doctors Without Borders opened a clinic in Khartoum.')).toEqual([
      'Doctors Without Borders | opened in | Khartoum',
    ]);
  });

  test('a day before a name and an amount after it are no part of it', () => {
    expect(stated('On Monday the European Commission fined Apple 500 million euros.')).toEqual([
      'European Commission | fined | Apple',
    ]);
  });

  test('the first word of a sentence is a name where it acts, or is written like a name', () => {
    expect(stated('Confluent maintains the Schema Registry.')).toEqual(['Confluent | maintains | Schema Registry']);
    expect(stated('Airbus delivered the jet to Qatar Airways.')).toEqual(['Airbus | delivered jet to | Qatar Airways']);
    expect(stated('OpenAI was founded by Sam Altman. Finland joined NATO.')).toEqual([
      'OpenAI | was founded by | Sam Altman',
      'Finland | joined | NATO',
    ]);
    expect(stated('Coffee grows in Ethiopia. Research moved to Poland.')).toEqual([]);
  });
});

describe('verbs and their objects', () => {
  test('a past form that the tagger takes for an adjective is the verb', () => {
    expect(stated('Frida Kahlo married Diego Rivera in 1929.')).toEqual([
      'Frida Kahlo | married | Diego Rivera',
      'Frida Kahlo | married in | 1929',
    ]);
  });

  test('a pronoun that is an object is not the subject of a later verb', () => {
    expect(stated('Volvo opened it in 2022 after Brandenburg granted a permit.')).toEqual(['Volvo | opened in | 2022']);
  });

  test('a participle after a comma belongs to the noun before it', () => {
    expect(stated('Greta Holm sailed on the yacht Malizia II, skippered by Boris Herrmann.')).toEqual([
      'Greta Holm | sailed on | Malizia II',
      'Malizia II | was skippered by | Boris Herrmann',
    ]);
  });

  test('what a name owns is where it is, and does what it does', () => {
    expect(stated("Tesla's factory in Berlin employs 12,000 people.")).toEqual(['Tesla | factory in | Berlin']);
    expect(stated("Frida Kahlo's paintings hang in the Museo Dolores Olmedo.")).toEqual([
      'Frida Kahlo | paintings hang in | Museo Dolores Olmedo',
    ]);
    expect(stated('Siemens sold its plant in Leipzig to ABB.')).toEqual([
      'Siemens | sold plant in | Leipzig',
      'Siemens | sold to | ABB',
    ]);
  });

  test('an office and a part keep their words', () => {
    expect(stated('Hein Schumacher succeeded Alan Jope as chief executive. Vyborg became part of Finland.')).toEqual([
      'Hein Schumacher | succeeded | Alan Jope',
      'Hein Schumacher | succeeded as | chief executive',
      'Vyborg | became part of | Finland',
    ]);
  });

  test('examples are no objects, and a noun before a subject describes nothing', () => {
    expect(stated('Spotify pays owners such as Universal Music.')).toEqual([]);
    expect(stated('Lisa Su runs AMD. Under her leadership AMD bought Xilinx.')).toEqual([
      'Lisa Su | runs | AMD',
      'AMD | bought | Xilinx',
    ]);
  });
});

describe('the end of a sentence', () => {
  test('can be the full stop of a legal form', () => {
    expect(stated('Anna Berg runs Acme Corp. Tom Farrow left Oslo.')).toEqual([
      'Anna Berg | runs | Acme Corp',
      'Tom Farrow | left | Oslo',
    ]);
  });
});

describe('relation words', () => {
  test.each([
    ['Oleg Bartunov wrote `jsonb_set` for PostgreSQL.', ['Oleg Bartunov | wrote for | PostgreSQL']],
    ['The Clio is a car from Renault.', ['Clio | is car from | Renault']],
    ['Maria Costa travelled to Geneva in 1998 to join CERN.', /travelled to join \| CERN/],
    ['Hi Laura, please send the contract to Peter Novak.', []],
    ['The Nokia 3310 was sold in Finland. Nokia sued Apple in Texas.', /(^|")Nokia \| sued \| Apple/],
  ])('%s', (text, relations) => {
    if (relations instanceof RegExp) expect(JSON.stringify(stated(text))).toMatch(relations);
    else expect(stated(text)).toEqual(relations);
  });
});

describe('words of two kinds', () => {
  test.each([
    ['Acme sells products, including Widget Pro and Gizmo.', []],
    ['Acme, including Beta Corp, employs Anna.', []],
    ['Many firms including Acme Corporation use Postback.', []],
    ['She wrote to Acme regarding the Oslo plant.', []],
    ['Acme makes software that checks contracts.', []],
    ['The API stores requests but cannot start their workflows.', []],
    ['Carol paints houses in Bergen.', ['Carol | paints in | Bergen']],
    [
      'The Danube rises in Germany, flows through Vienna.',
      ['Danube | rises in | Germany', 'Danube | flows through | Vienna'],
    ],
  ])('%s', (text, relations) => {
    expect(stated(text)).toEqual(relations);
    const names = graphOf(text).entities.map(({ name }) => name);
    // A verb that is taken for a noun becomes a part of a concept.
    expect(names.filter((name) => / (use|contract|house|request)$/.test(name))).toEqual([]);
  });

  test('the number of a name can show what it is', () => {
    expect(stated('Motel 6 opened in Austin. The company hired Anna Berg.')).toEqual([
      'Motel 6 | opened in | Austin',
      'Motel 6 | hired | Anna Berg',
    ]);
  });
});

describe('what is no entity', () => {
  const names = (text: string) => graphOf(text).entities.map(({ name }) => name);

  test('code, identifiers and common words in capitals', () => {
    const text = [
      'Debezium calls `Reader.next()` when MAX_RETRIES is reached, or SECRET is empty.',
      '```python',
      'class Slot(Base):',
      '    return NAMES[self.byte]',
      '```',
      'return Buffer.from(self[NAMES], byte);',
      'NASA uses Debezium.',
    ].join('\n');
    expect(names(text).sort()).toEqual(['Debezium', 'NASA']);
  });

  test('the evidence of a sentence with code is the sentence as it was', () => {
    const [relation] = statedRelations(graphOf('Oleg Bartunov wrote `jsonb_set` for PostgreSQL.'));
    expect(relation?.evidence[0]?.sentence).toBe('Oleg Bartunov wrote `jsonb_set` for PostgreSQL.');
  });

  test('a common noun, however often it is named', () => {
    expect(names('The glacier is large. A glacier moves. This glacier melts.')).toEqual([]);
  });
});

describe('paragraphs that were labelled by hand and held out', () => {
  const scores = readParagraphs()
    .filter(({ half }) => half === 'held-out')
    .map((paragraph) => scoreOf(paragraph, graphOf(paragraph.text)));

  test('nineteen of twenty stated relations are right, and four of five possible pairs are found', () => {
    const total = sum(scores);
    expect(scores).toHaveLength(20);
    expect(precision(total)).toBeGreaterThanOrEqual(0.95);
    expect(recall(total)).toBeGreaterThanOrEqual(0.8);
  });
});

describe('what is not so', () => {
  test('a denial goes with its verb, and what is denied of a name is not stated', () => {
    expect(stated('Anna Berg never worked for Shell. She no longer lives in Oslo.')).toEqual([
      'Anna Berg | never worked for | Shell',
      'Anna Berg | no longer lives in | Oslo',
    ]);
    expect(stated("Acme Corp is not a subsidiary of Globex Ltd. Anna Berg isn't married to Tom Farrow.")).toEqual([
      'Acme Corp | is not subsidiary of | Globex Ltd',
      'Anna Berg | is not married to | Tom Farrow',
    ]);
    expect(stated('Neither Anna Berg nor Tom Farrow joined Spotify.')).toEqual([]);
    expect(stated('Tom Farrow left Shell, not BP.')).toEqual(['Tom Farrow | left | Shell']);
    expect(stated('It is not true that Anna Berg married Carlos Vega.')).toEqual([]);
    expect(stated('Rumours that Daimler bought Tesla are false.')).toEqual([]);
  });

  test('"not only" and "not until" deny nothing', () => {
    expect(stated('Anna Holt is not only the founder of Orbis Labs.')).toEqual([
      'Anna Holt | is founder of | Orbis Labs',
    ]);
    expect(stated('Acme sells not only to BMW but also to Bosch.')).toEqual([
      'Acme | sells to | BMW',
      'Acme | sells to | Bosch',
    ]);
    expect(stated('It was not until 2015 that Orbis Labs bought Telenor.')).toEqual(['Orbis Labs | bought | Telenor']);
  });

  test('a claim or a denial ends with its clause', () => {
    expect(stated('The rumour that Apple would buy Tesla was denied by Tim Cook, who leads Apple.')).toEqual([
      'Tim Cook | leads | Apple',
    ]);
    expect(stated('Neither Audi nor Porsche will move, but BMW will open a plant in Leipzig.')).toEqual([
      'BMW | will open in | Leipzig',
    ]);
    expect(stated('Despite the fact that Shell sold Raizen, Cosan stayed in Brazil.')).toEqual([
      'Shell | sold | Raizen',
      'Cosan | stayed in | Brazil',
    ]);
  });

  test('who is accused of something has not done it, and who is thanked for it has', () => {
    expect(stated('Lisa Berg accused Tom Farrow of stealing data from Acme Corp.')).toEqual([
      'Lisa Berg | accused | Tom Farrow',
    ]);
    expect(stated('Anna Berg thanked Tom Farrow for joining Oxfam.')).toEqual([
      'Anna Berg | thanked | Tom Farrow',
      'Tom Farrow | joining | Oxfam',
    ]);
  });
});

describe('clauses beside each other', () => {
  test('a relative clause ends where another verb follows', () => {
    expect(stated('The ship that Henrik Olsen built sank off Bergen.')).toEqual([]);
    expect(stated('Acme Corp, for which Lena Koch works, is based in Bonn.')).toEqual([
      'Lena Koch | works for | Acme Corp',
      'Acme Corp | is based in | Bonn',
    ]);
    expect(stated('The painting inspired a novel by Tracy Chevalier, which was published by HarperCollins.')).toEqual(
      [],
    );
    expect(stated('Clara Holm taught in Frankfurt, where she died in 1896.')).toContain(
      'Clara Holm | died in | Frankfurt',
    );
  });

  test('a verb that is left out is that before', () => {
    expect(stated('Anna Berg lives in Oslo and Tom Farrow in Bergen.')).toEqual([
      'Anna Berg | lives in | Oslo',
      'Tom Farrow | lives in | Bergen',
    ]);
    expect(stated('Linus Torvalds created Linux in 1991 and Git in 2005.')).toContain('Linus Torvalds | created | Git');
    expect(stated('Google acquired Fitbit for $2.1 billion and Looker for $2.6 billion.')).toContain(
      'Google | acquired | Looker',
    );
  });

  test('a second object is not a subject', () => {
    expect(stated('Amazon bought Whole Foods in 2017 and MGM in 2021.')).toContain('Amazon | bought | MGM');
    expect(stated('Anna Holt met Tom Reed in Leeds and Ben Ford in York.')).toContain('Anna Holt | met | Ben Ford');
    expect(stated('Tom Reed prevented Anna Holt from joining KPMG and hired Ben Ford.')).toContain(
      'Tom Reed | hired | Ben Ford',
    );
  });

  test('"he" is not whom the words in front of it name', () => {
    expect(stated('Thomas Sankara was a soldier. Born to Joseph Sankara, he attended the Lycée Ouezzin.')).toContain(
      'Thomas Sankara | was born to | Joseph Sankara',
    );
  });
});

describe('names of many kinds', () => {
  test('particles, numerals and letters of other alphabets are parts of a name', () => {
    expect(stated('Ursula von der Leyen leads the European Commission.')).toEqual([
      'Ursula von der Leyen | leads | European Commission',
    ]);
    expect(stated('Elizabeth I was born in Greenwich.')).toEqual(['Elizabeth I | was born in | Greenwich']);
    expect(stated('Łukasz Kowalski works in Poznań.')).toEqual(['Łukasz Kowalski | works in | Poznań']);
    expect(stated("Bong Joon-ho won the Palme d'Or.")).toEqual(["Bong Joon-ho | won | Palme d'Or"]);
    expect(stated('Elena Popova is the CEO of Gazprom.')).toEqual(['Elena Popova | is CEO of | Gazprom']);
  });

  test('a company and its namesake are two', () => {
    const text = 'BlackRock owns Siemens Energy. In May, Siemens sold Fluence.';
    expect(stated(text)).toContain('Siemens | sold | Fluence');
    expect(stated('The Boeing Company is based in Arlington. Boeing bought Spirit AeroSystems.')).toContain(
      'Boeing Company | bought | Spirit AeroSystems',
    );
  });

  test('the lines of an address and the rows of a table are not one sentence', () => {
    const names = (text: string) => graphOf(text).entities.map(({ name }) => name);
    expect(names('Kind regards\nBen Whitaker\nHead of Sales, Initech Ltd')).toContain('Ben Whitaker');
    expect(names('Name | Company\nJohn Smith | Acme Corp\nMary Jones | Globex Ltd')).toContain('Mary Jones');
  });

  test('the lines of a wrapped sentence are', () => {
    const lines = 'before the London Symphony Orchestra appointed him as its music director in\n2017.';
    expect(stated(`Simon Rattle conducted the orchestra in\nBerlin for sixteen years ${lines}`)).toEqual([
      'Simon Rattle | conducted in | Berlin',
      'London Symphony Orchestra | appointed | Simon Rattle',
      'London Symphony Orchestra | appointed as | music director',
      'London Symphony Orchestra | appointed in | 2017',
    ]);
  });

  test('a name has one spelling, however its accents are written and whatever is invisible in it', () => {
    const spellings = ['José García', 'Jose\u0301 Garci\u0301a', 'José Gar\u00adcía', 'José\u200b García'];
    const { entities } = graphOf(spellings.map((name) => `${name} works in Lima.`).join(' '));
    expect(entities.map(({ name }) => name)).toEqual(['José García', 'Lima']);
  });

  test('unknown words of a list do not make English another language', () => {
    const list = 'Grafana Labs maintains loki, mimir, tempo, pyroscope and promtail.';
    expect(stated(`${list} Datadog acquired Logmatic.`)).toEqual(['Datadog | acquired | Logmatic']);
  });

  test('of another language, only the names are read', () => {
    const text =
      'Gabriel García Márquez nació en Aracataca. Estaba casado con Mercedes Barcha y trabajó para el periódico.';
    const graph = graphOf(text);
    expect(graph.entities.filter(({ type }) => type === 'concept')).toEqual([]);
    expect(statedRelations(graph)).toEqual([]);
  });
});

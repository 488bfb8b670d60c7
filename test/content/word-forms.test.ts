import { describe, expect, test } from '@jest/globals';
import type { TextLanguage } from '../../domain/content/languages.js';
import { createTextAnalysis } from '../../storage/content/search-index/analysis.js';

/** Forms of one word each, with the share of pairs of forms that must have the same term. */
const FORMS: [TextLanguage, number, string][] = [
  [
    'pl',
    0.85,
    `faktura faktury fakturze fakturę fakturą faktur fakturom fakturami fakturach
     umowa umowy umowie umowę umową umów umowom umowami umowach
     płatność płatności płatnością płatnościom płatnościami płatnościach
     klient klienta klientowi klientem kliencie klienci klientów klientom klientami klientach
     książka książki książce książkę książką książek książkom książkami książkach
     nowy nowego nowemu nowym nowa nowej nową nowe nowych nowymi
     czytać czytam czytasz czyta czytamy czytacie czytają czytał czytała czytali
     system systemu systemowi systemem systemie systemy systemów systemami
     tramwaj tramwaju tramwajem tramwaje tramwajów tramwajami tramwajach
     zamówienie zamówienia zamówieniu zamówieniem zamówień zamówieniom zamówieniami zamówieniach
     kupować kupuję kupuje kupują kupował kupowała kupowali`,
  ],
  [
    'uk',
    0.85,
    `рахунок рахунка рахунку рахунком рахунки рахунків рахункам рахунками рахунках
     договір договору договором договори договорів договорам договорами
     книга книги книзі книгу книгою книг книгам книгами книгах
     новий нового новому новим нова нової новій нову новою нові нових новими
     читати читаю читаєш читає читаємо читають читав читала читали
     компанія компанії компанію компанією компаній компаніям
     замовлення замовленню замовленням замовлень замовленнями замовленнях
     працівник працівника працівнику працівником працівники працівників працівникам працівниками
     відповідь відповіді відповіддю відповідей відповідям
     купувати купую купує купують купував купувала купували`,
  ],
  [
    'hi',
    0.85,
    `किताब किताबें किताबों
     लड़का लड़के लड़कों
     भुगतान भुगतानों
     नदी नदियाँ नदियों नदियां
     पढ़ना पढ़ता पढ़ते पढ़ती पढ़कर पढ़ेगा
     कर्मचारी कर्मचारियों
     शाखा शाखाएं शाखाओं
     अनुबंध अनुबंधों`,
  ],
];

describe.each(FORMS)('words of %s', (language, share, text) => {
  const analysis = createTextAnalysis();
  const termsOfLines = () =>
    Promise.all(
      text.split('\n').map(async (line) => (await analysis.analyse([{ text: line, language }]))[0]!.trim().split(' ')),
    );

  test('have the same term in most forms', async () => {
    let pairs = 0;
    let equal = 0;
    for (const terms of await termsOfLines()) {
      pairs += (terms.length * (terms.length - 1)) / 2;
      equal += terms.flatMap((term, at) => terms.slice(at + 1).filter((other) => other === term)).length;
    }
    expect(equal / pairs).toBeGreaterThan(share);
  });

  test('that are not related have other terms', async () => {
    const lines = (await termsOfLines()).map((terms) => [...new Set(terms)]);
    expect(new Set(lines.flat()).size).toBe(lines.flat().length);
  });
});

test.each([
  ['Zahlungseingang', 'zahlungseingang zahlung eingang'],
  ['Versicherungsleistungsbetrag', 'versicherungsleistungsbetrag versicher leistungsbetrag leistung betrag'],
  ['Universitätskliniken', 'universitatsklin universitat klinik'],
  ['Jungs', 'jung'],
  ['Kundennummer', 'kundennumm'],
])('the compound %s has the terms of its nouns', async (word, terms) => {
  const analysis = createTextAnalysis();
  expect(await analysis.analyse([{ text: word, language: 'de' }])).toEqual([terms]);
});

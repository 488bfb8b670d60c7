/** Endings of a language that has no stemmer in LanceDB: of nouns, adjectives and the usual forms of verbs. */
type Endings = readonly string[];

/** Shorter stems would be equal for words that have nothing in common. */
const SHORTEST_STEM = 3;
/** Polish endings follow each other: "systemem" loses two, so that it meets "system", whose last letters are an ending, too. */
const PASSES = 2;
const ACCENTS = /[\u0300-\u036f]/g;

/** Without accents, because "fakturę" and "fakturą" then end as "faktura" does. */
const POLISH = endings(`
  a e i o u y ie ia iu io om ow em ym im ej ami ach ego emu ymi ych imi ich iej iem iom iow owi owie owi iami iach iego iemu iecie
  ejszy ejsza ejsze ejszej ejszego ejszemu ejszym ejszych ejszymi
  iejszy iejsza iejsze iejszej iejszego iejszemu iejszym iejszych iejszymi
  ac ec ic yc al il yl asz esz isz ysz aja eja emy amy imy ymy acie icie ycie ali aly ala alo ili ily ila ilo yli yly yla ylo
  owac owal owali owaly owala owalo uje uja ujesz ujemy ujecie owanie owania owaniu owaniem aliscie alismy`);
const UKRAINIAN = endings(`
  а я у ю і ї и е є о ь й ої ій ою ею єю ого ому ий им ім їм их їх ом ем єм ів їв ей ам ям ах ях ами ями ими іми ові еві єві
  ія ії ію ією іями іях іям іє ість ості істю остей остям остях ень ення енню енням
  ати яти ити іти аю яю ає яє аєш яєш аємо яємо аєте яєте ають яють ав яв ала яла али яли ало яло ив ила или ило іть иш ите имо
  ать ять ють уть ється ються увати ую ує уєш уємо уєте ують ував увала ували ювати ування уванню уванням`);
/** The list of Ramanathan and Rao, "A Lightweight Stemmer for Hindi" (2003), with its other spellings of nasal vowels. */
const HINDI = endings(`
  ो े ू ु ी ि ा कर ाओ िए ाई ाए ने नी ना ते ीं ती ता ाँ ां ों ें ाकर ाइए ाईं ाया ेगी ेगा ोगी ोगे ाने ाना ाते ाती ाता तीं ाओं ाएं
  ाएँ ुओं ुएं ुएँ ुआं ाएगी ाएगा ाओगी ाओगे एंगी ेंगी एंगे ेंगे ूंगी ूंगा ातीं नाओं नाएं नाएँ ताओं ताएं ताएँ ियाँ ियों ियां ाएंगी ाएंगे
  ाऊंगी ाऊंगा ाइयाँ ाइयों ाइयां`);

/** Languages whose words are reduced by their endings. */
export const BY_ENDINGS = {
  pl(word: string): string {
    let stem = word.normalize('NFD').replace(ACCENTS, '').replaceAll('ł', 'l');
    for (let pass = 0; pass < PASSES; pass += 1) stem = withoutEnding(stem, POLISH, SHORTEST_STEM);
    return stem.length > SHORTEST_STEM && stem.endsWith('i') ? stem.slice(0, -1) : stem;
  },
  uk(word: string): string {
    const stem = withoutEnding(word, UKRAINIAN, SHORTEST_STEM);
    // The "нн" of "замовлення" is "н" in "замовлень".
    return stem.at(-1) === stem.at(-2) ? stem.slice(0, -1) : stem;
  },
  /** A consonant has its vowel in it, so two characters are a stem: "नदी", "नदियों". */
  hi: (word: string): string => withoutEnding(word, HINDI, 2),
} as const;

export type LanguageByEndings = keyof typeof BY_ENDINGS;

export function isByEndings(language: string): language is LanguageByEndings {
  return language in BY_ENDINGS;
}

/** @returns endings from the longest to the shortest */
function endings(words: string): Endings {
  return words
    .trim()
    .split(/\s+/)
    .sort((a, b) => b.length - a.length);
}

function withoutEnding(word: string, list: Endings, shortest: number): string {
  const ending = list.find((text) => word.length - text.length >= shortest && word.endsWith(text));
  return ending === undefined ? word : word.slice(0, -ending.length);
}

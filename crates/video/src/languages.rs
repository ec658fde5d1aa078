//! Languages that select a movie's track of sound, and their codes.

/// The codes of all languages, without separators between the codes of a language: two letters of ISO 639-1, then three letters
/// of ISO 639-2, then the bibliographic code if it differs.
const CODES: &str = "aaaar ababk aeave afafr akaka amamh anarg arara asasm avava ayaym azaze babak bebel bgbul bibis bmbam \
    bnben bobodtib brbre bsbos cacat ceche chcha cocos crcre cscescze cuchu cvchv cycymwel dadan dedeuger dvdiv dzdzo eeewe \
    elellgre eneng eoepo esspa etest eueusbaq fafasper ffful fifin fjfij fofao frfrafre fyfry gagle gdgla glglg gngrn guguj \
    gvglv hahau heheb hihin hohmo hrhrv hthat huhun hyhyearm hzher iaina idind ieile igibo iiiii ikipk ioido isislice itita \
    iuiku jajpn jvjav kakatgeo kgkon kikik kjkua kkkaz klkal kmkhm knkan kokor krkau kskas kukur kvkom kwcor kykir lalat \
    lbltz lglug lilim lnlin lolao ltlit lulub lvlav mgmlg mhmah mimrimao mkmkdmac mlmal mnmon mrmar msmsamay mtmlt mymyabur \
    nanau nbnob ndnde nenep ngndo nlnlddut nnnno nonor nrnbl nvnav nynya ococi ojoji omorm orori ososs papan pipli plpol \
    pspus ptpor quque rmroh rnrun roronrum rurus rwkin sasan scsrd sdsnd sesme sgsag sisin skslkslo slslv smsmo snsna sosom \
    sqsqialb srsrp ssssw stsot susun svswe swswa tatam tetel tgtgk ththa titir tktuk tltgl tntsn toton trtur tstso tttat \
    twtwi tytah uguig ukukr ururd uzuzb veven vivie vovol wawln wowol xhxho yiyid yoyor zazha zhzhochi zuzul";

/// A language, identified by its code. The codes `en` and `eng` and the first part of `en-GB` or `en_GB.UTF-8` give the same
/// language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Language(String);

impl Language {
    /// Returns the language with this code of two or three letters, which a region may follow; `None` if `code` has another
    /// form.
    pub fn from_code(code: &str) -> Option<Self> {
        let letters = code.trim().split(['-', '_', '.', '@', ',']).next().unwrap_or_default();
        let is_code =
            matches!(letters.len(), 2 | 3) && letters.bytes().all(|byte| byte.is_ascii_alphabetic());
        let letters = is_code.then(|| letters.to_ascii_lowercase())?;
        let codes = CODES.split_ascii_whitespace().find(|codes| match letters.len() {
            2 => codes.starts_with(&letters),
            _ => codes[2..5] == letters || codes[5..] == letters,
        });
        Some(Self(codes.map_or(letters, |codes| codes[2..5].to_owned())))
    }
}

/// The languages that select a movie's track of sound.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Languages {
    /// The languages that the user asked for, the preferred one first.
    pub wanted: Vec<Language>,
    /// The language of the user's system; `None` if it is not known.
    pub system: Option<Language>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_one_language_are_equal_and_other_texts_are_no_codes() {
        let same = |codes: &[&str]| {
            let first = Language::from_code(codes[0]);
            assert!(first.is_some());
            codes.iter().for_each(|code| assert_eq!(Language::from_code(code), first, "{code}"));
        };
        same(&["de", "deu", "ger", "DE", "de-AT", "de_DE.UTF-8", " ger ", "de_DE@euro"]);
        same(&["en", "eng", "en-GB"]);
        same(&["zh", "zho", "chi", "zh-Hant-TW"]);
        same(&["cmn", "CMN"]);
        assert_ne!(Language::from_code("en"), Language::from_code("de"));
        // The letters of one code inside of another entry are no code.
        assert_ne!(Language::from_code("eg"), Language::from_code("de"));
        for text in ["", "C", "C.UTF-8", "POSIX", "german", "d3", "-de", "дe"] {
            assert_eq!(Language::from_code(text), None, "{text}");
        }
        let entries: Vec<&str> = CODES.split_ascii_whitespace().collect();
        assert!(entries.iter().all(|entry| matches!(entry.len(), 5 | 8)));
        assert!(entries.windows(2).all(|two| two[0] < two[1]));
    }
}

"""The language codes of alternates: ISO 639 and ISO 3166-1, and the right codes for common mistakes."""

from __future__ import annotations

from functools import lru_cache

from django_sitemaps09 import protocol

# ISO 639-1, and codes that were withdrawn, which some programs still write.
_LANGUAGES = frozenset(
    (
        "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de "
        "dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia "
        "id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo "
        "lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl "
        "ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti "
        "tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu in iw ji mo "
    ).split()
)

# Codes of two letters, each followed by a code of three letters for the same language (ISO 639-2). Only the
# other languages, such as `hsb` and `ckb`, use three letters.
_THREE = frozenset(
    (
        "aaaar ababk aeave afafr akaka amamh anarg arara asasm avava ayaym azaze babak bebel bgbul bibis "
        "bmbam bnben bobod botib brbre bsbos cacat ceche chcha cocos crcre csces cscze cuchu cvchv cycym "
        "cywel dadan dedeu deger dvdiv dzdzo eeewe elell elgre eneng eoepo esspa etest eueus eubaq fafas "
        "faper ffful fifin fjfij fofao frfra frfre fyfry gagle gdgla glglg gngrn guguj gvglv hahau heheb "
        "hihin hohmo hrhrv hthat huhun hyhye hyarm hzher iaina idind ieile igibo iiiii ikipk ioido isisl "
        "isice itita iuiku jajpn jvjav kakat kageo kgkon kikik kjkua kkkaz klkal kmkhm knkan kokor krkau "
        "kskas kukur kvkom kwcor kykir lalat lbltz lglug lilim lnlin lolao ltlit lulub lvlav mgmlg mhmah "
        "mimri mimao mkmkd mkmac mlmal mnmon mrmar msmsa msmay mtmlt mymya mybur nanau nbnob ndnde nenep "
        "ngndo nlnld nldut nnnno nonor nrnbl nvnav nynya ococi ojoji omorm orori ososs papan pipli plpol "
        "pspus ptpor quque rmroh rnrun roron rorum rurus rwkin sasan scsrd sdsnd sesme sgsag shhbs sisin "
        "skslk skslo slslv smsmo snsna sosom sqsqi sqalb srsrp ssssw stsot susun svswe swswa tatam tetel "
        "tgtgk ththa titir tktuk tltgl tntsn toton trtur tstso tttat twtwi tytah uguig ukukr ururd uzuzb "
        "veven vivie vovol wawln wowol xhxho yiyid yoyor zazha zhzho zhchi zuzul "
    ).split()
)

# ISO 3166-1.
_REGIONS = frozenset(
    (
        "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS "
        "BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE "
        "EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM "
        "HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC "
        "LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA "
        "NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW "
        "SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO "
        "TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW "
    ).split()
)

_SHORT = {code[2:]: code[:2] for code in _THREE}
_MISTAKES = {
    "cn": "zh",
    "cz": "cs",
    "dk": "da",
    "gb": "en-GB",
    "gr": "el",
    "jp": "ja",
    "sp": "es",
    "ua": "uk",
    "us": "en-US",
    "vn": "vi",
}


@lru_cache(1_000)
def parse_language(language: str) -> tuple[str, str | None, str]:
    """Return the normalized code of a language, the rule that it breaks or `None`, and the reason."""
    try:
        code = protocol.hreflang(language)
    except ValueError as error:
        return language, "hreflang-code", str(error)
    if "_" in language or "@" in language:
        return code, "hreflang-code", f"write {code}"
    name, *parts = code.split("-")
    if name == "x":
        return code, None, ""
    if name in _SHORT:
        return code, "hreflang-code", f"write {'-'.join([_SHORT[name], *parts])}"
    if len(name) == 2 and name not in _LANGUAGES:
        if parts and parts[-1].lower() in _LANGUAGES and name.upper() in _REGIONS:
            return (
                code,
                "hreflang-code",
                f"the language comes first: write {parts[-1].lower()}-{name.upper()}",
            )
        right = _MISTAKES.get(name)
        return code, "hreflang-code", f"write {right}" if right else f"there is no language {name!r}"
    region = parts[-1] if parts and len(parts[-1]) == 2 else None
    warning = protocol.hreflang_warning(code)
    if warning is None and region is not None and region not in _REGIONS:
        warning = f"there is no country {region!r}"
    return code, warning and "hreflang-unsupported", warning or ""

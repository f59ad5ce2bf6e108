"""The translated fields of news."""

from modeltranslation.translator import TranslationOptions, register

from news.models import Article


@register(Article)
class ArticleTranslation(TranslationOptions):
    fields = ("slug",)
